/** `maxToolCallsFromHistory`, in whole conversations. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createLookGraph, lookUp } from "../support/create-look-graph.js";
import { callIdsOf } from "../support/strict-check.js";
import { inThread, messagesOf, user } from "../support/thread.js";

const args = { at: "weather", tokens: 5 };

/** How a provider writes a call. */
const forms = Object.entries<(id: string) => AIMessage>({
  OpenAI: (id) => new AIMessage({ content: "", tool_calls: [{ id, name: "look", args }] }),
  Anthropic: (id) =>
    new AIMessage({
      content: [
        { type: "text", text: "I look." },
        { type: "tool_use", id, name: "look", input: args },
      ],
      tool_calls: [{ id, name: "look", args }],
    }),
  "OpenAI, with the raw calls beside": (id) =>
    new AIMessage({
      content: "",
      tool_calls: [{ id, name: "look", args }],
      additional_kwargs: {
        tool_calls: [{ id, type: "function", function: { name: "look", arguments: JSON.stringify(args) } }],
      },
    }),
});

const callsIn = (messages: readonly BaseMessage[]) => messages.flatMap(callIdsOf).length;

describe.each(forms)(
  "Eight turns about the weather with the limit 3, as %s writes them",
  (_form, message) => {
    it.each<[title: string, id: (turn: number) => string]>([
      ["own ids", (turn) => `call_${turn}`],
      ["one id for all", () => "call_0"],
    ])("with %s", async (_title, id) => {
      let turn = 0;
      const { graph, model } = createLookGraph(
        ({ messages }) => (messages.at(-1)?.type === "tool" ? "sunny" : message(id(turn))),
        { checkpointer: new MemorySaver(), maxToolCallsFromHistory: 3, maxTokensBeforeSummary: 0 },
      );
      const counts: [sent: number, stored: number][] = [];
      for (turn = 1; turn <= 8; turn += 1) {
        const result = await graph.invoke(user(`weather ${turn}?`), inThread("t"));
        counts.push([callsIn(model.requests.at(-1)?.messages ?? []), callsIn(messagesOf(result))]);
      }
      expect(counts.map(([sent]) => sent)).toEqual([1, 2, 3, 4, 4, 4, 4, 4]);
      expect(counts.map(([, stored]) => stored)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(model.refused).toEqual([]);
      for (const { messages } of model.requests) {
        const asked = messages.filter(({ type }) => type === "human").map(({ text }) => text);
        expect(asked).toEqual(asked.map((_, index) => `weather ${index + 1}?`));
      }
    });
  },
);

it("Calls that the model is not sent do not make a summary due", async () => {
  const { graph, summariser } = createLookGraph(
    ({ messages }) => (messages.at(-1)?.type === "tool" ? "fine" : lookUp("x", 300, "c")),
    { checkpointer: new MemorySaver(), maxToolCallsFromHistory: 0, maxTokensBeforeSummary: 1000 },
  );
  for (let turn = 0; turn < 8; turn += 1) await graph.invoke(user(`turn ${turn}`), inThread("t"));
  // Eight short questions and answers, and one result.
  expect(summariser.requests).toHaveLength(0);
});
