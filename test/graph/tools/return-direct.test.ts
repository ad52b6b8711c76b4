/** Tools whose results are meant for the user. */

import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const schema = z.object({ fails: z.boolean().optional() });
const made = (name: string, returnDirect: boolean) =>
  tool(
    ({ fails }) => {
      if (fails) throw new Error("no");
      return `${name} done`;
    },
    { name, description: name, schema, returnDirect },
  );
const tools = [made("direct", true), made("also", true), made("plain", false)];
const run = async (...steps: readonly Step[]) => {
  const agent = createAgentGraph({ model: scripted(...steps), tools, checkpointer: new MemorySaver() });
  return pairedScript(await agent.invoke(user("hi"), inThread("1"))).slice(2);
};

describe("a tool with `returnDirect`", () => {
  it("ends the run with its result", async () => {
    expect(await run(calls(["direct"]))).toEqual(["tool: direct done"]);
  });

  it("ends the run with several results, if all calls of the batch are of such tools", async () => {
    expect(await run(calls(["direct"], ["also"]))).toEqual(["tool: direct done", "tool: also done"]);
  });

  it.each([
    ["after", [["plain"], ["direct"]]],
    ["before", [["direct"], ["plain"]]],
  ] as const)("does not end it if another tool was called %s it", async (_, batch) => {
    const lines = await run(calls(...batch), "done");
    expect(lines).toEqual([...batch.map(([name]) => `tool: ${name} done`), "ai: done"]);
  });

  it.each([
    ["alone", [["direct", { fails: true }]]],
    ["in a batch", [["direct", { fails: true }], ["also"]]],
    ["with bad arguments", [["direct", { fails: "yes" }]]],
  ] as const)("does not end it if it fails %s", async (_, batch) => {
    expect((await run(calls(...batch), "sorry")).at(-1)).toBe("ai: sorry");
  });

  it("counts only the latest batch, and the next run goes on from there", async () => {
    const agent = createAgentGraph({
      model: scripted(calls(["direct"], ["plain"]), calls(["also"]), "next"),
      tools,
      checkpointer: new MemorySaver(),
    });
    const events: unknown[] = [];
    for await (const event of await agent.stream(user("hi"), { ...inThread("1"), streamMode: "custom" }))
      events.push(event);
    expect(events).toEqual([expect.objectContaining({ type: "run-end", calls: 3, results: 3 })]);
    const lines = pairedScript(await agent.invoke(user("more"), inThread("1")));
    expect(lines.slice(-3)).toEqual(["tool: also done", "human: more", "ai: next"]);
  });

  it("waits for approval like any other", async () => {
    const agent = createAgentGraph({
      model: scripted(calls(["direct"], ["also"])),
      tools,
      requireApproval: ["direct"],
      checkpointer: new MemorySaver(),
    });
    await agent.invoke(user("hi"), inThread("1"));
    const resume = { decisions: [{ type: "approve" }] };
    const result = await agent.invoke(new Command({ resume }), inThread("1"));
    expect(pairedScript(result).slice(2)).toEqual(["tool: direct done", "tool: also done"]);
  });
});
