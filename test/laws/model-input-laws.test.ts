/**
 * The laws of the model input of every dialect, for any history: it is valid; it begins as the one before it, so that the
 * provider finds that in its cache (summaries, new system messages and `maxToolCallsFromHistory` change the beginning on
 * purpose); `explainInput` tells it; and whatever was asked before, it is the same as one made afresh.
 */

import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { callsOf, isAIMessage } from "../../src/history/call.js";
import { isBlankMessage } from "../../src/history/change-calls.js";
import { measureInput } from "../../src/history/measure.js";
import { contentText, toPlain } from "../../src/history/message.js";
import { unansweredCalls } from "../../src/history/open-calls.js";
import { isMessage, isMessageList } from "../../src/history/read-messages.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { coverageOf } from "../../src/history/summary.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import { explainInput, type InputReasonCode } from "../../src/providers/input/explain-input.js";
import { type ModelInputOptions, toModelInput } from "../../src/providers/input/to-model-input.js";
import { plainRoles } from "../../src/providers/rules/order.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import { DIALECTS, dialectNamed } from "../../src/providers/table/dialects.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { ai, human, result } from "../support/make-messages.js";
import { snapshot } from "../support/plain-messages.js";
import { expectWarnings, law, OLD_PACKAGES } from "../support/test-tools.js";

expectWarnings(OLD_PACKAGES);

const NAMES = Object.keys(DIALECTS) as DialectName[];
const RUNS = 150;
const foreign = foreignHistories().map(buildForeign);

const options = fc.record({
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
const odd = fc.record({ at: fc.nat(20), odd: fc.constantFrom(...ODD_VALUES) });
const oddities = fc.array(odd, { maxLength: 2 });

const histories = fc
  .tuple(foreign, fc.boolean(), fc.oneof(fc.constant([]), oddities))
  .map(([built, isRepaired, added]) => {
    const history: BaseMessage[] = isRepaired ? repairHistory(built).messages.slice() : built;
    for (const { at, odd } of added)
      history.splice(at % (history.length + 1), 0, odd(history, at) as BaseMessage);
    return history;
  });

const byNumber = (one: number, other: number): number => one - other;

describe.each(NAMES)("for %s", (dialect) => {
  law(
    "a model input is valid, its own model input is the same, and no message is changed",
    RUNS,
    [foreign],
    (history) => {
      const before = snapshot(history);
      const input = toModelInput(history, { dialect });
      expect(snapshot(history)).toEqual(before);
      expect(validateHistory(input, dialect)).toEqual([]);
      const again = toModelInput(input, { dialect });
      expect(again.length).toBe(input.length);
      for (const [index, message] of again.entries()) expect(message).toBe(input[index]);
    },
  );

  law(
    "call ids stay the same when the history grows at its end",
    RUNS,
    [foreign, fc.nat({ max: 14 })],
    (list, cut) => {
      const callIds = (history: readonly BaseMessage[]) =>
        toModelInput(history, { dialect }).flatMap((message) => callsOf(message).map(({ id }) => id));
      const history = toModelInput(list, { dialect: "openai" });
      const before = callIds(history.slice(0, turnStart(history, cut)));
      expect(callIds(history).slice(0, before.length)).toEqual(before);
    },
  );

  law("each input begins with the one before", 200, [foreign], (list) => {
    const history = repairHistory(plainRoles(list, dialectNamed("strict")).filter(isPartOfTurn)).messages;
    expect(breaksOf(history, { dialect, systemPrompt: "Be brief." })).toBe(0);
  });

  law(
    "what is said to be sent is the model input, and each stored message is told once",
    40,
    [histories, options],
    (history, others) => {
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
      for (const { reasons } of added) expect(reasons.length).toBe(1);

      for (const { index, id, fate, inputIndexes, reasons } of stored) {
        const message = history[index];
        const storedId: unknown = Object(message).id;
        expect(id).toBe(typeof storedId === "string" ? storedId : undefined);
        expect(inputIndexes.length).toBe(fate === "left-out" ? 0 : 1);
        if (fate === "changed") expect(reasons.length).toBeGreaterThan(0);
        if (fate === "left-out") expect(reasons.length).toBe(1);
        // Whatever says something is in the input, also as a part of another message, or something else keeps it out.
        if (fate === "left-out" && !KEPT_OUT.has(reasons[0]?.code) && isMessage(message))
          expect(contentText(message).trim()).toBe("");
        const [place = -1] = inputIndexes;
        if (fate === "sent") expect(snapshot(input[place])).toEqual(snapshot(message));
        if (input.includes(message as never) && history.filter((one) => one === message).length === 1)
          expect(input[place]).toBe(message);
      }
      const inOrder = stored.flatMap(({ fate, inputIndexes }) => (fate === "sent" ? inputIndexes : []));
      expect(inOrder).toEqual([...inOrder].sort(byNumber));
      expect(new Set(inOrder).size).toBe(inOrder.length);
      if (!isMessageList(history)) return;
      for (const { rule, index } of validateHistory(history, dialect))
        if (stored[index] && stored[index].fate !== "left-out")
          expect(stored[index].reasons.map(({ code }) => code)).toContain(rule);
    },
  );
});

/** Why a message with a text can be left out. */
const KEPT_OUT: ReadonlySet<unknown> = new Set<InputReasonCode>([
  ...(["not-a-message", "removed", "covered", "compacted", "filtered", "over-window"] as const),
  ...(["duplicate-result", "orphan-result", "foreign-state"] as const),
]);

/** A place where a group ends. */
function turnStart(history: readonly BaseMessage[], cut: number): number {
  const place = Math.min(cut, history.length);
  const end = history.findIndex(({ type }, index) => index >= place && type !== "tool");
  return end < 0 ? history.length : end;
}

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

const soundTurns = fc.array(soundTurn, { minLength: 1, maxLength: 6 });
law(
  "an unknown host with OpenAI's protocol gets every sound history as stored",
  RUNS,
  [soundTurns],
  (turns) => {
    const history = turns.flatMap(({ requests, results, idForm, answer }, turn): BaseMessage[] => {
      const ids = results.map((_, index) => `${idForm}${turn}-${index}`);
      const tool_calls = ids.map((id, index) => ({ id, name: "look", args: { index } }));
      return [
        ...requests.map((content) => new HumanMessage(content)),
        ...(ids.length > 0 ? [new AIMessage({ content: "", tool_calls })] : []),
        ...ids.map((tool_call_id, index) => new ToolMessage({ tool_call_id, content: results[index] ?? "" })),
        ...(answer === null ? [] : [new AIMessage(answer)]),
      ];
    });
    const input = toModelInput(history, { dialect: "openai-compatible" });
    expect(input).toHaveLength(history.length);
    for (const [index, message] of input.entries()) expect(message).toBe(history[index]);
  },
);

const batches = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 25 });
const limits = fc
  .nat({ max: 8 })
  .chain((max) => fc.record({ max: fc.constant(max), clearAtLeast: fc.integer({ min: 1, max: max + 1 }) }));

law(
  "clearAtLeast changes the beginning once for each block, and keeps the newest calls",
  200,
  [batches, limits],
  (sizes, maxToolCallsFromHistory) => {
    const { max, clearAtLeast } = maxToolCallsFromHistory;
    const history = sizes.flatMap(turnWith);
    const earlier = sizes.slice(0, -1).reduce((sum, size) => sum + size, 0);
    const blocks = Math.ceil(Math.max(0, earlier - max) / clearAtLeast);
    expect(breaksOf(history, { maxToolCallsFromHistory })).toBeLessThanOrEqual(blocks);
    const sent = toModelInput([...history, human("last")], { maxToolCallsFromHistory });
    const all = history.filter(({ type }) => type === "tool").map(({ id }) => id);
    const kept = sent.filter(({ type }) => type === "tool").map(({ id }) => id);
    expect(kept).toEqual(all.slice(all.length - kept.length));
    expect(kept.length).toBeLessThanOrEqual(max);
    if (kept.length < all.length) expect(kept.length).toBeGreaterThan(max - clearAtLeast);
  },
);

function turnWith(size: number, turn: number): BaseMessage[] {
  const ids = Array.from({ length: size }, (_, index) => `c${turn}-${index}`);
  const batch = [ai(`b${turn}`, ...ids), ...ids.map((id) => result(`r-${id}`, id))];
  return [human(`h${turn}`), ...(size === 0 ? [] : batch), ai(`a${turn}`)];
}

function isPartOfTurn(message: BaseMessage): boolean {
  return message.type !== "system" && coverageOf(message) === undefined;
}

/** How many inputs of the history's model calls do not begin with the input before. */
function breaksOf(history: readonly BaseMessage[], options: ModelInputOptions): number {
  const inputs = timesAsked(history).map((length) => toModelInput(history.slice(0, length), options));
  return inputs.filter((input, index) => !beginsWith(input, inputs[index - 1] ?? [])).length;
}

/**
 * The lengths of the history at which the model was asked, and responded. Where an empty response is left out, the
 * user's messages around it become one. Of a history that says nothing, nothing is sent, so that nothing can be kept.
 */
function timesAsked(history: readonly BaseMessage[]): number[] {
  const isSaid = (message: BaseMessage) => !isAIMessage(message) && message.text.trim() !== "";
  const said = history.findIndex(isSaid);
  if (said === -1) return [];
  return history.flatMap((message, index) => {
    const isResponse = isAIMessage(message) && (callsOf(message).length > 0 || !isBlankMessage(message));
    return isResponse && index > said && history[index - 1]?.type !== "ai" ? [index] : [];
  });
}

function beginsWith(messages: readonly BaseMessage[], before: readonly BaseMessage[]): boolean {
  const texts = (list: readonly BaseMessage[]) => list.map((message) => JSON.stringify(toPlain(message)));
  const own = texts(messages);
  return texts(before).every((text, index) => own[index] === text);
}

/** What happens to the list before the next input. */
const changes = fc.oneof(
  fc.record({ kind: fc.constantFrom("append", "edit", "drop", "mutate", "fork") as never, at: fc.nat(40) }),
  fc.record({ kind: fc.constant("append" as const), at: fc.nat(40) }),
) as fc.Arbitrary<{ kind: "append" | "edit" | "drop" | "mutate" | "fork"; at: number }>;

/** Nothing is kept for copies. */
function copyOf(message: BaseMessage): BaseMessage {
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message);
}

function change(kind: string, at: number, list: BaseMessage[], more: readonly BaseMessage[]): BaseMessage[] {
  const place = at % Math.max(list.length, 1);
  const message = list[place];
  if (kind === "append" || message === undefined) return [...list, ...more.slice(at % 5, (at % 5) + 3)];
  if (kind === "edit")
    return list.with(place, new HumanMessage({ id: `edit${at}`, content: `Edited ${at}` }));
  if (kind === "drop") return list.toSpliced(place, 1 + (at % 3));
  if (kind === "fork") return [...list.slice(0, place), ...more.slice(at % 7)];
  // A frozen message cannot be changed in place.
  if (Object.isFrozen(message)) return list;
  message.content = `Changed ${at}`;
  if (message.type === "ai") {
    const { tool_calls = [] } = message as AIMessage;
    if (Array.isArray(tool_calls)) tool_calls[0] = { id: `c${at % 4}`, name: "look", args: { at } };
  }
  return list;
}

describe("whatever was asked before", () => {
  const asked = fc.tuple(changes, options, fc.constantFrom(...NAMES));
  const steps = fc.array(asked, { minLength: 1, maxLength: 6 });
  const asRead = fc
    .tuple(foreign, fc.boolean())
    .map(([list, isRepaired]) => (isRepaired ? repairHistory(list).messages : list));

  law(
    "the model input is the one that copies of the messages have",
    RUNS,
    [asRead, foreignHistories(), steps],
    (list, other, all) => {
      let history = list;
      for (const [{ kind, at }, others, dialect] of all) {
        history = change(kind, at, history, buildForeign(other));
        const inputOf = (messages: BaseMessage[]) => snapshot(toModelInput(messages, { ...others, dialect }));
        expect(inputOf(history)).toEqual(inputOf(history.map(copyOf)));
      }
    },
  );

  const limits = fc.constantFrom(undefined, undefined, 1, { max: 2, clearAtLeast: 2 });
  const all = fc.array(changes, { maxLength: 6 });
  law(
    "open calls and lengths are those that copies of the messages have",
    RUNS,
    [foreign, all, limits],
    (list, made, maxToolCalls) => {
      let history = repairHistory(list).messages;
      for (const { kind, at } of made) {
        history = [...change(kind, at, history, [human("x"), ai("y", "c"), result("z", "c")])];
        const [own, copied] = [history, history.map(copyOf)].map((messages) => {
          const { dangling, pending } = unansweredCalls(messages);
          const { tokens: length } = measureInput(messages, { toolTokens: 1, promptTokens: 1, maxToolCalls });
          return [length, dangling.length, pending.length];
        });
        expect(own).toEqual(copied);
      }
    },
  );
});
