/** An agent middleware that ends the wait for a human: what had run by then is in the thread. */

import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { agentMiddleware, createAgentGraph, MiddlewareTermination } from "../../../src/index.js";
import { approve, asInput, countingTools } from "../../support/approval-graph.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

function agent(
  isOn: () => boolean,
  end: "result" | "termination",
  ...wanted: readonly [name: string, label: string][]
) {
  const { runs, tools } = countingTools();
  const endsWait = agentMiddleware(async function endsWait(context, next) {
    await next();
    if (!isOn() || context.interrupts.length === 0) return;
    if (end === "termination") throw new MiddlewareTermination("no waiting");
    context.result = "no waiting";
  });
  const graph = createAgentGraph({
    model: scripted(calls(...wanted.map(([name, label]) => [name, { label }] as const)), "done"),
    tools,
    requireApproval: ["risky"],
    middleware: [endsWait],
    checkpointer: new MemorySaver(),
  });
  return { graph, runs };
}

describe.each(["result", "termination"] as const)("a %s that ends the wait", (end) => {
  it("keeps what free calls have returned", async () => {
    const { graph, runs } = agent(() => true, end, ["free", "a"], ["risky", "b"]);
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual([
      "human: go",
      "ai> free risky",
      "tool: free did a",
      expect.stringMatching(/^tool! .*was not approved/),
      "ai: no waiting",
    ]);
    expect(runs).toEqual(["free:a"]);
    expect(pairedScript(await graph.invoke(user("again"), config)).at(-1)).toBe("ai: done");
  });

  it("keeps what approved calls have returned, and says of no call that ran that it was not approved", async () => {
    let isOn = false;
    const { graph, runs } = agent(() => isOn, end, ["risky", "a"], ["risky", "b"]);
    await graph.invoke(user("go"), config);
    isOn = true;
    const ended = await graph.invoke(asInput({ resume: { decisions: [approve] } }), config);
    expect(pairedScript(ended)).toEqual([
      "human: go",
      "ai> risky risky",
      "tool: risky did a",
      expect.stringMatching(/^tool! .*was not approved/),
      "ai: no waiting",
    ]);
    expect(runs).toEqual(["risky:a"]);
    expect(pairedScript(await graph.invoke(user("again"), config)).at(-1)).toBe("ai: done");
  });
});
