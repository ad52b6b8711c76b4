/** The laws of what is kept between model inputs: whatever was asked before, an input is the same as one made afresh. */

import { type AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unansweredCalls } from "../../src/history/open-calls.js";
import { measureInput } from "../../src/history/plan-summary.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { DIALECTS, type DialectName } from "../../src/providers/dialects.js";
import { type ModelInputOptions, toModelInput } from "../../src/providers/input/to-model-input.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { runs } from "../support/law-runs.js";
import { ai, human, result } from "../support/make-messages.js";
import { snapshot } from "../support/plain-messages.js";

expectWarnings(OLD_PACKAGES);

const NAMES = Object.keys(DIALECTS) as DialectName[];
const optionsOf = fc.record({
  dialect: fc.constantFrom(...NAMES),
  modelId: fc.constantFrom(undefined, "gpt-5", "claude"),
  systemPrompt: fc.constantFrom(undefined, "Be brief."),
  maxToolCallsFromHistory: fc.constantFrom(undefined, undefined, 0, 2, { max: 2, clearAtLeast: 2 }),
  maxTokens: fc.constantFrom(undefined, undefined, 300),
});
/** What happens to the list before the next input. */
const changes = fc.oneof(
  fc.record({ kind: fc.constantFrom("append", "edit", "drop", "mutate", "fork") as never, at: fc.nat(40) }),
  fc.record({ kind: fc.constant("append" as const), at: fc.nat(40) }),
) as fc.Arbitrary<{ kind: "append" | "edit" | "drop" | "mutate" | "fork"; at: number }>;

/** Nothing is kept for copies. */
function copyOf(message: BaseMessage): BaseMessage {
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message);
}

function afresh(history: readonly BaseMessage[], options: ModelInputOptions): BaseMessage[] {
  return toModelInput(history.map(copyOf), options);
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
  it("the model input is the one that copies of the messages have", () => {
    const steps = fc.array(fc.tuple(changes, optionsOf), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        foreignHistories(),
        foreignHistories(),
        fc.boolean(),
        steps,
        (foreign, other, isRepaired, asked) => {
          const built = buildForeign(foreign);
          let history: BaseMessage[] = isRepaired ? repairHistory(built).messages : built;
          for (const [{ kind, at }, options] of asked) {
            history = change(kind, at, history, buildForeign(other));
            expect(snapshot(toModelInput(history, options))).toEqual(snapshot(afresh(history, options)));
          }
        },
      ),
      runs(150),
    );
  });

  it("open calls and lengths are those that copies of the messages have", () => {
    const limits = fc.constantFrom(undefined, undefined, 1, { max: 2, clearAtLeast: 2 });
    fc.assert(
      fc.property(
        foreignHistories(),
        fc.array(changes, { maxLength: 6 }),
        limits,
        (foreign, asked, maxToolCalls) => {
          const overhead = { toolTokens: 1, promptTokens: 1, maxToolCalls };
          let history = repairHistory(buildForeign(foreign)).messages;
          for (const { kind, at } of asked) {
            history = [...change(kind, at, history, [human("x"), ai("y", "c"), result("z", "c")])];
            const copies = history.map(copyOf);
            expect(measureInput(history, overhead)).toBe(measureInput(copies, overhead));
            const [one, two] = [unansweredCalls(history), unansweredCalls(copies)];
            expect([one.dangling.length, one.pending.length]).toEqual([
              two.dangling.length,
              two.pending.length,
            ]);
          }
        },
      ),
      runs(150),
    );
  });
});
