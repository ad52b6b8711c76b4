/** The laws of a bounded model input, for any history and every dialect. */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { countTokens } from "../../src/history/size.js";
import { isUserMessage } from "../../src/history/summary.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import { sizeOfInput } from "../../src/providers/input/shorten.js";
import { prepareModelInput, toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";
import { snapshot } from "../support/plain-messages.js";
import { law } from "../support/test-tools.js";
import { buildThread, longThreads } from "../support/window-arbitraries.js";

const NAMES = Object.keys(DIALECTS) as DialectName[];
const SYSTEM_PROMPT = "Be brief.";
/** The shortest form of a message of the open group, and of a note. */
const LEAST = 70;

/** The tokens that any window must have for this history. */
function leastOf(history: readonly BaseMessage[]): number {
  const request = history.findLast(isUserMessage);
  const head = history.findLastIndex(({ type }) => type !== "tool");
  const open = history.slice(head).filter((message) => message !== request);
  const calls = open.length * 30;
  const notes = history.filter((message) => message.type === "human" && !isUserMessage(message)).length + 3;
  return (request === undefined ? 0 : countTokens(request)) + (open.length + notes) * LEAST + calls + 30;
}

const windows = fc.tuple(longThreads, fc.integer({ min: 0, max: 6_000 }));

describe.each(NAMES)("For %s, in any window that holds the current request", (dialect) => {
  law("the input is valid, fits, and has the current request", 40, [windows], ([thread, more]) => {
    const history = buildThread(thread);
    const before = snapshot(history);
    const maxTokens = leastOf(history) + more;
    const input = toModelInput(history, { dialect, maxTokens, systemPrompt: SYSTEM_PROMPT });
    expect(validateHistory(input, dialect)).toEqual([]);
    expect(sizeOfInput(input)).toBeLessThanOrEqual(maxTokens);
    const request = history.findLast(isUserMessage);
    if (request !== undefined) expect(input.some(({ text }) => text.includes(request.text))).toBe(true);
    const systems = input.filter(({ type }) => type === "system").map(({ text }) => text);
    expect(systems.join("\n\n")).toBe(`${SYSTEM_PROMPT}\n\nYou help.`);
    expect(snapshot(history)).toEqual(before);
  });
});

describe("In any window at all", () => {
  law(
    "the input is valid, and is the shortest one where it does not fit",
    60,
    [longThreads, fc.constantFrom(...NAMES), fc.integer({ min: 1, max: 500 })],
    (thread, dialect, maxTokens) => {
      const history = buildThread(thread);
      const input = toModelInput(history, { dialect, maxTokens, systemPrompt: SYSTEM_PROMPT });
      expect(validateHistory(input, dialect)).toEqual([]);
      const shortest = toModelInput(history, { dialect, maxTokens: 1, systemPrompt: SYSTEM_PROMPT });
      expect(sizeOfInput(input)).toBeLessThanOrEqual(Math.max(maxTokens, sizeOfInput(shortest) + 200));
    },
  );

  law("the changes name what is not in the input, and nothing else", 60, [windows], ([thread, more]) => {
    const history = buildThread(thread);
    const maxTokens = leastOf(history) + more;
    const { messages, changes } = prepareModelInput(history, { dialect: "openai", maxTokens });
    const sent = new Map(messages.map((message) => [message.id, message]));
    const changed = new Map(changes.map(({ id, kind }) => [id, kind]));
    expect(changed.size).toBe(changes.length);
    for (const message of history.filter(({ type }) => type !== "system")) {
      const kind = changed.get(message.id);
      expect(sent.has(message.id)).toBe(kind !== "left-out");
      if (kind === undefined) expect(sent.get(message.id)?.content).toEqual(message.content);
    }
  });
});
