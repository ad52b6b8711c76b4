/** The laws of the model input of every dialect, for any history. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callsOf } from "../../src/history/call.js";
import { DIALECTS, type DialectName } from "../../src/providers/dialects.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/validate-history.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { runs } from "../support/law-runs.js";
import { snapshot } from "../support/plain-messages.js";

expectWarnings(OLD_PACKAGES);

const NAMES = Object.keys(DIALECTS) as DialectName[];
const RUNS = runs(150);

function callIds(messages: readonly BaseMessage[]): string[] {
  return messages.flatMap((message) => callsOf(message).map(({ id }) => id));
}

describe.each(NAMES)("for %s", (dialect) => {
  it("validation finds nothing in a model input", () => {
    fc.assert(
      fc.property(foreignHistories(), (foreign) => {
        expect(validateHistory(toModelInput(buildForeign(foreign), { dialect }), dialect)).toEqual([]);
      }),
      RUNS,
    );
  });

  it("the model input of a model input is the same, message for message", () => {
    fc.assert(
      fc.property(foreignHistories(), (foreign) => {
        const input = toModelInput(buildForeign(foreign), { dialect });
        const again = toModelInput(input, { dialect });
        expect(again.length).toBe(input.length);
        for (const [index, message] of again.entries()) expect(message).toBe(input[index]);
      }),
      RUNS,
    );
  });

  it("call ids stay the same when the history grows at its end", () => {
    fc.assert(
      fc.property(foreignHistories(), fc.nat({ max: 14 }), (foreign, cut) => {
        const history = toModelInput(buildForeign(foreign), { dialect: "openai" });
        const turn = turnStart(history, cut);
        const before = callIds(toModelInput(history.slice(0, turn), { dialect }));
        const after = callIds(toModelInput(history, { dialect }));
        expect(after.slice(0, before.length)).toEqual(before);
      }),
      RUNS,
    );
  });

  it("no message of the history is changed", () => {
    fc.assert(
      fc.property(foreignHistories(), (foreign) => {
        const history = buildForeign(foreign);
        const before = snapshot(history);
        toModelInput(history, { dialect });
        expect(snapshot(history)).toEqual(before);
      }),
      RUNS,
    );
  });
});

/** Turns of a sound history: ids of any form, and user messages in any place that a message of the user can have. */
const soundTurn = fc.record({
  requests: fc.array(fc.constantFrom("Hello.", " And?\n", "好"), { minLength: 1, maxLength: 2 }),
  results: fc.array(fc.constantFrom("clear", "", '{"a":1}'), { maxLength: 3 }),
  idForm: fc.constantFrom(
    "functions.look:",
    "call_",
    "chatcmpl-tool-",
    `call__thought__${"x".repeat(300)}`,
    "0",
  ),
  answer: fc.option(fc.constantFrom("Clear.", "**Done**")),
});

it("an unknown host with OpenAI's protocol gets every sound history as it is stored", () => {
  fc.assert(
    fc.property(fc.array(soundTurn, { minLength: 1, maxLength: 6 }), (turns) => {
      const history = turns.flatMap(({ requests, results, idForm, answer }, turn): BaseMessage[] => {
        const ids = results.map((_, index) => `${idForm}${turn}-${index}`);
        const tool_calls = ids.map((id, index) => ({ id, name: "look", args: { index } }));
        return [
          ...requests.map((content) => new HumanMessage(content)),
          ...(ids.length > 0 ? [new AIMessage({ content: "", tool_calls })] : []),
          ...ids.map(
            (tool_call_id, index) => new ToolMessage({ tool_call_id, content: results[index] ?? "" }),
          ),
          ...(answer === null ? [] : [new AIMessage(answer)]),
        ];
      });
      const input = toModelInput(history, { dialect: "openai-compatible" });
      expect(input).toHaveLength(history.length);
      for (const [index, message] of input.entries()) expect(message).toBe(history[index]);
    }),
    RUNS,
  );
});

/** A place where a group ends. */
function turnStart(history: readonly BaseMessage[], cut: number): number {
  const place = Math.min(cut, history.length);
  const end = history.findIndex(({ type }, index) => index >= place && type !== "tool");
  return end < 0 ? history.length : end;
}
