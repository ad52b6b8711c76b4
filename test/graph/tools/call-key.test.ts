/** The key of a call, which a tool passes to a service that does nothing twice for one key. */

import { type ToolRuntime, tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, functionMiddleware } from "../../../src/index.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { inThread, user } from "../../support/thread.js";

function keyedTool(keys: (string | undefined)[]) {
  return tool(
    (_: object, { callKey }: ToolRuntime & { callKey?: string }) => {
      keys.push(callKey);
      return "paid";
    },
    { name: "pay", description: "Pays.", schema: z.object({}) },
  );
}

it("differs for each call, also if calls have one id, and is the same for each attempt", async () => {
  const keys: (string | undefined)[] = [];
  const model = () => scripted(calls(["pay", {}, "c"], ["pay", {}, "d"]), calls(["pay", {}, "c"]), "done");
  const twice = functionMiddleware(
    async (_, next) => {
      await next();
      await next();
    },
    { retry: true },
  );
  for (const thread of ["1", "2"]) {
    const graph = createAgentGraph({
      model: model(),
      tools: [keyedTool(keys)],
      middleware: [twice],
      checkpointer: new MemorySaver(),
    });
    await graph.invoke(user("go"), inThread(thread));
  }
  const counts = new Map<string | undefined, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  expect([...counts.values()]).toEqual([2, 2, 2, 2, 2, 2]);
  for (const key of counts.keys()) expect(key).toMatch(/^[0-9a-f]{32}$/);
});
