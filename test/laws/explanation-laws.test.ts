/** The laws of `explainInput`: what it says is sent is the model input, and it tells each stored message once. */

import { AIMessageChunk, type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { DIALECTS, type DialectName } from "../../src/providers/dialects.js";
import { explainInput } from "../../src/providers/input/explain-input.js";
import { type ModelInputOptions, toModelInput } from "../../src/providers/input/to-model-input.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { runs } from "../support/law-runs.js";
import { snapshot } from "../support/plain-messages.js";

expectWarnings(OLD_PACKAGES);

const options: fc.Arbitrary<ModelInputOptions> = fc.record({
  modelId: fc.constantFrom(undefined, "gpt-5", "claude-sonnet-4-5"),
  systemPrompt: fc.constantFrom(undefined, "Be brief.", " "),
  maxToolCallsFromHistory: fc.constantFrom(undefined, undefined, 0, 1, { max: 2, clearAtLeast: 2 }),
  maxTokens: fc.constantFrom(undefined, undefined, 0, 30, 100, 300),
});

/** What a list can hold besides the messages of a history. */
const ODD_VALUES: readonly ((messages: readonly BaseMessage[], at: number) => unknown)[] = [
  (messages, at) => messages[at % Math.max(messages.length, 1)],
  (messages, at) => new RemoveMessage({ id: messages[at % Math.max(messages.length, 1)]?.id ?? "none" }),
  () => new RemoveMessage({ id: "__remove_all__" }),
  () => ({ role: "user", content: "Said." }),
  () => ({ type: "nothing" }),
  () => null,
  () => new AIMessageChunk({ id: "chunk", content: "Said." }),
  () => Object.assign(new HumanMessage("Said."), { content: 5 }),
];
const oddities = fc.array(fc.record({ at: fc.nat(20), odd: fc.constantFrom(...ODD_VALUES) }), {
  maxLength: 2,
});

const histories = fc
  .tuple(foreignHistories(), fc.boolean(), fc.oneof(fc.constant([]), oddities))
  .map(([foreign, isRepaired, added]) => {
    const built = buildForeign(foreign);
    const history: BaseMessage[] = isRepaired ? repairHistory(built).messages.slice() : built;
    for (const { at, odd } of added)
      history.splice(at % (history.length + 1), 0, odd(history, at) as BaseMessage);
    return history;
  });

describe.each(Object.keys(DIALECTS) as DialectName[])("for %s", (dialect) => {
  it("what is said to be sent is the model input, and each stored message is told once", () => {
    fc.assert(
      fc.property(histories, options, (history, others) => {
        const before = snapshot(history);
        const { input, stored, added } = explainInput(history, { dialect, ...others });
        expect(snapshot(history)).toEqual(before);
        expect(snapshot(input)).toEqual(snapshot(toModelInput(history, { dialect, ...others })));

        expect(stored.map(({ index }) => index)).toEqual(history.map((_, index) => index));
        const from = stored.flatMap(({ inputIndexes }) => inputIndexes);
        const told = new Set([...from, ...added.map(({ inputIndex }) => inputIndex)]);
        expect([...told].sort(byNumber)).toEqual(input.map((_, index) => index));
        expect(added.every(({ inputIndex }) => !from.includes(inputIndex))).toBe(true);
        expect(added.map(({ inputIndex }) => inputIndex).sort(byNumber)).toEqual(
          added.map(({ inputIndex }) => inputIndex),
        );
        for (const { reasons } of added) expect(reasons.length).toBeGreaterThan(0);

        for (const { index, id, fate, inputIndexes, reasons } of stored) {
          const message = history[index];
          const storedId: unknown = Object(message).id;
          expect(id).toBe(typeof storedId === "string" ? storedId : undefined);
          expect(inputIndexes.length).toBe(fate === "left-out" ? 0 : 1);
          expect(reasons.length > 0).toBe(fate !== "sent");
          if (fate === "left-out") expect(reasons.length).toBe(1);
          const [place = -1] = inputIndexes;
          if (fate === "sent") expect(snapshot(input[place])).toEqual(snapshot(message));
          if (input.includes(message as never) && history.filter((one) => one === message).length === 1)
            expect(input[place]).toBe(message);
        }
        const inOrder = stored.flatMap(({ fate, inputIndexes }) => (fate === "sent" ? inputIndexes : []));
        expect(inOrder).toEqual([...inOrder].sort(byNumber));
        expect(new Set(inOrder).size).toBe(inOrder.length);
      }),
      runs(40),
    );
  });
});

function byNumber(one: number, other: number): number {
  return one - other;
}
