/** What tools wrote to own keys of the state, when their run ended before it was applied. */

import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command, MemorySaver, Overwrite, ReducedValue, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentMiddleware, createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";

const lines = z.array(z.string());
const stateSchema = new StateSchema({
  plan: z.string().optional(),
  log: new ReducedValue(
    lines.default(() => []),
    { inputSchema: lines, reducer: (a, b) => [...a, ...b] },
  ),
});
const note = tool(({ plan }, _runtime: ToolRuntime) => new Command({ update: { plan, log: [plan] } }), {
  name: "note",
  description: "Notes a plan.",
  schema: z.object({ plan: z.string() }),
});

/** A thread whose first run was cancelled after two notes, and beside a call that had not finished. */
async function cancelled(...then: readonly Step[]) {
  const probe = createProbe();
  const saver = new MemorySaver();
  const agent = createAgentGraph({
    model: scripted(calls(["note", { plan: "a" }], ["note", { plan: "b" }], ["heedful"]), ...then),
    tools: [note, probe.heedful],
    stateSchema,
    checkpointer: saver,
  });
  const abort = new AbortController();
  const run = agent.invoke(user("hi"), { ...inThread("1"), signal: abort.signal });
  await probe.hasBegun(1);
  const saved = async () => {
    const writes = (await saver.getTuple(inThread("1")))?.pendingWrites ?? [];
    return writes.filter(([, channel]) => channel === "plan").length;
  };
  await expect.poll(saved, { timeout: 20_000 }).toBe(2);
  abort.abort();
  await expect(run).rejects.toThrow();
  return agent;
}

describe("a run after a cancelled one", () => {
  it("has what the finished tools wrote, in the order of their calls", async () => {
    const agent = await cancelled("done");
    const result = await agent.invoke(user("more"), inThread("1"));
    expect(result).toMatchObject({ plan: "b", log: ["a", "b"] });
    expect(pairedScript(result).slice(2, 5)).toEqual([
      "tool: (no output)",
      "tool: (no output)",
      expect.stringMatching(/^tool! Tool call heedful/),
    ]);
  });

  it("keeps a value of its own input, and adds to a reduced one", async () => {
    const agent = await cancelled("done");
    const result = await agent.invoke({ ...user("more"), plan: "mine", log: ["mine"] }, inThread("1"));
    expect(result).toMatchObject({ plan: "mine", log: ["mine", "a", "b"] });
  });

  it("recovers it once", async () => {
    const agent = await cancelled("done", "again");
    await agent.invoke(user("more"), inThread("1"));
    await agent.updateState(inThread("1"), { plan: "mine", log: new Overwrite([]) });
    expect(await agent.invoke(user("and more"), inThread("1"))).toMatchObject({ plan: "mine", log: [] });
  });

  it("tells agent middleware the whole history", async () => {
    const agent = await cancelled("done");
    let last: string | undefined;
    const middleware = [
      agentMiddleware(async (context, next) => {
        await next();
        last = context.result?.text;
      }),
    ];
    await agent.invoke(user("more"), { ...inThread("1"), middleware });
    expect(last).toBe("done");
  });
});
