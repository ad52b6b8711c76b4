/** No turn of a thread runs more tool calls than its budget has left, whatever the model asks for. */

import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { expect } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { calls, FunctionModel } from "../support/models.js";
import { law } from "../support/test-tools.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const config = inThread("1");

/** The batches of each turn, one for each round, and how many of their calls fail. */
const turns = fc.array(fc.array(fc.record({ good: fc.nat(3), bad: fc.nat(2) }), { maxLength: 3 }), {
  minLength: 1,
  maxLength: 4,
});

law(
  "The calls of a thread never exceed its budget, and each has a result",
  40,
  [turns, fc.nat(8), fc.nat(4)],
  async (wanted, perThread, perTurn) => {
    const probe = createProbe();
    const checkpointer = new MemorySaver();
    for (const [index, batches] of wanted.entries()) {
      const left = [...batches];
      const model = new FunctionModel(({ toolChoice }) => {
        const { good, bad } = left.shift() ?? { good: 0, bad: 0 };
        const names = [...Array(good).fill("fast"), ...Array(bad).fill("failing")];
        return toolChoice === "none" || names.length === 0
          ? "done"
          : calls(...names.map((name) => [name] as const));
      });
      // Each turn has a graph of its own, as after a restart.
      const graph = createAgentGraph({
        model,
        tools: [probe.fast, probe.failing],
        checkpointer,
        maxToolCallsPerThread: perThread,
        maxToolCalls: perTurn,
      });
      const before = probe.runs.length;
      const messages = pairedMessagesOf(await graph.invoke(user(`turn ${index}`), config));
      expect(messages.at(-1)?.type).toBe("ai");
      expect(model.refused).toEqual([]);
      expect(probe.runs.length - before).toBeLessThanOrEqual(perTurn);
      expect(probe.runs.length).toBeLessThanOrEqual(perThread);
    }
    const saved = (await checkpointer.getTuple(config))?.checkpoint.channel_values["threadUsage"];
    expect(saved).toMatchObject({ toolCalls: probe.runs.length });
  },
);
