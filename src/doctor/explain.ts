/** Says why a provider refuses a list of messages, offline. */

import type { BaseMessage } from "@langchain/core/messages";
import { InvalidMessageError } from "../errors.js";
import type { DialectName } from "../providers/contract/dialect-name.js";
import type { Grade, RuleName } from "../providers/contract/rule.js";
import { ruleNamed } from "../providers/rules/rules.js";
import { violationsIn } from "../providers/rules/validate-history.js";
import { checkSettings } from "../shared/check-settings.js";
import { amount, printableLine } from "../shared/text.js";
import { isRecord } from "../shared/values.js";
import { helpOf, rungsIn } from "../threads/asking/help.js";
import type { Rung } from "../threads/events.js";
import { isOfOtherApi, readList } from "./examine.js";
import type { FindingCode } from "./finding.js";
import { codeOf, dialectIn, dialectOrAuto } from "./findings.js";

/** One reason why a list is refused. */
export interface Reason {
  readonly code: FindingCode;
  readonly rule: RuleName;
  /** What the rule is about. One sentence. */
  readonly meaning: string;
  readonly index: number;
  readonly messageId: string | null;
  readonly callIds: readonly string[];
  /** The provider's error, in its own words; null if nobody knows them. */
  readonly providerSays: string | null;
  /** How well it is known that the provider refuses this. */
  readonly grade: Grade;
  /** What repairs it. One sentence. */
  readonly repair: string;
}

/** A response to a reduced input: its provider had refused another one, or it was too long. */
export interface ReducedRequest {
  /** The response's index. What comes before it was sent in this way. */
  readonly index: number;
  readonly messageId: string | null;
  /** How it was reduced, as the event `input-reduced` tells it. */
  readonly rungs: readonly Rung[];
}

/** What `explain` returns. */
export interface Explanation {
  readonly schemaVersion: 1;
  readonly dialect: DialectName;
  readonly refused: boolean;
  readonly reasons: readonly Reason[];
  /** The responses whose requests were not what the list says. */
  readonly reduced: readonly ReducedRequest[];
  /** All of it as text for people. It contains no text from messages, and ids and names cannot begin a line of it. */
  readonly text: string;
}

const CLOSE =
  "Put a result directly after the message with the call: `repairHistory` does it for a list, `repair` in the thread.";
const AT_REQUEST =
  "Send `toModelInput(messages, { dialect })` in place of the messages. The stored list can stay as it is.";

const REPAIRS: Readonly<Partial<Record<RuleName, string>>> = {
  "missing-result": CLOSE,
  "orphan-result":
    "Take the result out, or put the message with its call back before it. It is left by a cut of the history between a call and its result.",
  "duplicate-result": "Keep one result of the call. `repairHistory` keeps the first real one.",
  "result-order": "Put the results in the order of their calls: `repairHistory` does it.",
  "empty-history": "Send at least one message besides system messages.",
};

/**
 * Says why a provider would refuse a list of messages: the rule, the provider's error in its own words, and what repairs
 * it. It asks no provider.
 *
 * @param given Messages, exactly as they are sent: in the form of LangChain, a state or chat completions.
 * @param options `dialect` defaults to `"auto"`: the dialect of the model that wrote the latest response. If no
 *   response tells it, `"as-stored"` applies, which knows only the pairing rules.
 * @throws InvalidSettingError for a wrong option.
 * @throws InvalidMessageError for a value that is not a list, or a message in an unknown form, such as another API's.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { explain } from "langgraph-tether/doctor";
 *
 * const { reasons } = explain(
 *   [
 *     new HumanMessage("What is the weather?"),
 *     new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *     new HumanMessage("Are you there?"),
 *   ],
 *   { dialect: "anthropic" },
 * );
 * console.log(reasons.map(({ code, callIds }) => `${code} ${callIds}`)); // [ 'pairing/dangling-call c1' ]
 * ```
 */
export function explain(
  given: readonly unknown[],
  options: { readonly dialect?: DialectName | "auto" | undefined } = {},
): Explanation {
  checkSettings(options, { dialect: dialectOrAuto }, "options");
  const messages = readKnown(given);
  const { dialect: wanted = "auto" } = options;
  const known = wanted === "auto" ? dialectIn(messages) : wanted;
  const dialect = known ?? "as-stored";
  const reasons = violationsIn(messages, dialect).map(
    ({ rule, index, message, grade, ids }): Reason => ({
      code: codeOf(rule),
      rule,
      meaning: ruleNamed(rule).meaning,
      index,
      messageId: messages[index]?.id ?? null,
      callIds: codeOf(rule).startsWith("pairing/") ? ids : [],
      providerSays: grade === "inferred" ? null : wordsFor(rule, message, ids[0]),
      grade,
      repair: REPAIRS[rule] ?? AT_REQUEST,
    }),
  );
  const reduced = messages.flatMap((message, index): readonly ReducedRequest[] => {
    const rungs = rungsIn(helpOf(message));
    return rungs.length === 0 ? [] : [{ index, messageId: message.id ?? null, rungs }];
  });
  const text = [reportText(reasons, known, messages.length), ...reduced.map(reducedText)].join("\n\n");
  return { schemaVersion: 1, dialect, refused: reasons.length > 0, reasons, reduced, text };
}

/** Messages in a wrong form have faults that no provider would name, so they are refused. */
function readKnown(given: readonly unknown[]): readonly BaseMessage[] {
  if (!Array.isArray(given)) throw new InvalidMessageError("messages", typeof given, "a list of messages");
  const { messages, foreign } = readList(given);
  const unread = new Set(foreign.map(({ index }) => index));
  const place = given.findIndex((value, index) => unread.has(index) || isOfOtherApi(value));
  if (place < 0) return messages.map(({ message }) => message);
  const value: unknown = given[place];
  const expectation = "a message as LangChain, a state or chat completions have it";
  // The error can go into a ticket, so it names the fields but not their values.
  const form = isRecord(value) ? Object.keys(value) : typeof value;
  throw new InvalidMessageError(`messages[${place}]`, form, expectation, " The form is unknown.");
}

/** A rule's words, as the provider has them for this call. Null if nobody knows them. */
function wordsFor(rule: RuleName, words: string, callId: string | undefined): string | null {
  // An id can break the rule in another way than by its length.
  const [, maximum] = /maximum length (\d+)/.exec(words) ?? [];
  const isShort = callId !== undefined && callId.length <= Number(maximum);
  return rule === "call-id" && isShort ? null : words;
}

const UNTOLD = "No response tells its provider, so name a dialect to check its other rules.";

function reducedText({ index, rungs }: ReducedRequest): string {
  return `messages[${index}]  responds to an input that was reduced: ${rungs.join(", ")}.`;
}

/** @param dialect Undefined: nobody knows who gets the messages. */
function reportText(reasons: readonly Reason[], dialect: DialectName | undefined, length: number): string {
  const given = `${length === 1 ? "this" : "these"} ${amount(length, "message")}`;
  if (reasons.length === 0)
    return dialect === undefined
      ? `No rule of pairing refuses ${given}. ${UNTOLD}`
      : `${dialect}: no known rule refuses ${given}.`;
  const parts = reasons.map(({ rule, code, meaning, index, callIds, providerSays, grade, repair }) =>
    [
      `messages[${index}]  ${code}${code.endsWith(rule) ? "" : ` (${rule})`}`,
      `  ${meaning}${callIds.length === 0 ? "" : ` Calls: ${callIds.map((id) => printableLine(id) || "(no id)").join(", ")}.`}`,
      providerSays === null
        ? "  No report quotes the provider's error for this."
        : `  The provider answers${grade === "confirmed" ? "" : `, according to its ${grade === "source" ? "source" : "documentation"}`}: ${printableLine(providerSays)}`,
      `  ${repair}`,
    ].join("\n"),
  );
  const sections = [...new Set(reasons.map(({ rule }) => `#${rule}`))].join(", ");
  const page = `Why it happens, and what to do: docs/troubleshooting.md${sections}`;
  const head =
    dialect === undefined ? `Providers refuse ${given}. ${UNTOLD}` : `${dialect} refuses ${given}:`;
  return [head, ...parts, page].join("\n\n");
}
