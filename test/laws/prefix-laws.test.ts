/**
 * The laws of prompt caches: a request begins with the messages of the request before it, so that the provider finds
 * them in its cache. Summaries, new system messages and `maxToolCallsFromHistory` change the beginning on purpose.
 */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callsOf, isAIMessage } from "../../src/history/call.js";
import { isBlankMessage } from "../../src/history/change-calls.js";
import { toPlain } from "../../src/history/message.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { coverageOf } from "../../src/history/summary.js";
import { DIALECTS, type DialectName } from "../../src/providers/dialects.js";
import { plainRoles } from "../../src/providers/input/steps/turns.js";
import { type ModelInputOptions, toModelInput } from "../../src/providers/input/to-model-input.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { runs } from "../support/law-runs.js";
import { ai, human, result } from "../support/make-messages.js";

expectWarnings(OLD_PACKAGES);

const NAMES = Object.keys(DIALECTS) as DialectName[];

describe.each(NAMES)("for %s", (dialect) => {
  it("each input begins with the one before", () => {
    fc.assert(
      fc.property(foreignHistories(), (foreign) => {
        const history = repairHistory(plainRoles(buildForeign(foreign)).filter(isPartOfTurn)).messages;
        expect(breaksOf(history, { dialect, systemPrompt: "Be brief." })).toBe(0);
      }),
      runs(200),
    );
  });
});

describe("maxToolCallsFromHistory with clearAtLeast", () => {
  const batches = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 25 });
  const limits = fc
    .nat({ max: 8 })
    .chain((max) => fc.record({ max: fc.constant(max), clearAtLeast: fc.integer({ min: 1, max: max + 1 }) }));

  it("changes the beginning once for each block, and keeps the newest calls", () => {
    fc.assert(
      fc.property(batches, limits, (sizes, maxToolCallsFromHistory) => {
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
      }),
      runs(200),
    );
  });
});

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
