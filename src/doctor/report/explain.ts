/** Says why a provider refuses a list of messages, offline. */

import { callsOf } from "../../history/messages/call.js";
import { callIdOf, isResult } from "../../history/messages/result.js";
import type { DialectName } from "../../providers/dialects/dialects.js";
import { type Grade, RULES, type RuleName } from "../../providers/dialects/rule.js";
import { validateHistory } from "../../providers/dialects/validate-history.js";
import { readList } from "../examine/read-list.js";
import type { FindingCode } from "../finding.js";
import { threadOfList } from "../thread-of-list.js";
import { codeOf } from "./content-findings.js";

/** One reason why a list is refused. */
export interface Reason {
  readonly code: FindingCode;
  readonly rule: RuleName | null;
  /** What the rule is about. One sentence. */
  readonly meaning: string;
  readonly index: number;
  readonly messageId: string | null;
  readonly callIds: readonly string[];
  /** The provider's error, in its own words; null if nobody knows them. */
  readonly providerSays: string | null;
  /** How well it is known that the provider refuses this; null for what no provider is asked about. */
  readonly grade: Grade | null;
  /** What mends it. One sentence. */
  readonly mend: string;
}

/** What `explain` returns. */
export interface Explanation {
  readonly schemaVersion: 1;
  readonly dialect: DialectName;
  readonly refused: boolean;
  readonly reasons: readonly Reason[];
  /** All of it as text for people. It contains no text of messages. */
  readonly text: string;
}

const PAIRING_CODES: Readonly<Partial<Record<RuleName, FindingCode>>> = {
  "missing-result": "pairing/dangling-call",
  "orphan-result": "pairing/orphan-result",
  "duplicate-result": "pairing/duplicate-result",
  "result-order": "pairing/misplaced-result",
  "repeated-call-id": "pairing/reused-id",
};

const CLOSE =
  "Put a result directly after the message with the call: `repairHistory` does it for a list, `repair` in the thread.";
const AT_REQUEST =
  "Send `toModelInput(messages, { dialect })` in place of the messages. The stored list can stay as it is.";

const MENDS: Readonly<Partial<Record<RuleName, string>>> = {
  "missing-result": CLOSE,
  "orphan-result":
    "Take the result out, or put the message with its call back before it. It is left by a cut of the history between a call and its result.",
  "duplicate-result": "Keep one result of the call. `repairHistory` keeps the first real one.",
  "result-order": "Put the results in the order of their calls: `repairHistory` does it.",
  "empty-history": "Send at least one message besides system messages.",
};

/**
 * Says why a provider would refuse a list of messages: the rule, the provider's error in its own words, and what mends
 * it. It asks no provider.
 *
 * @param messages Messages or message-likes, exactly as they are sent.
 * @throws InvalidSettingError for an unknown dialect.
 * @throws InvalidMessageError if `messages` is not a list.
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
  messages: readonly unknown[],
  { dialect }: { readonly dialect: DialectName },
): Explanation {
  const { content } = threadOfList(messages);
  const list = readList(content.kind === "read" ? content.messages : []);
  const sent = list.messages.map(({ message }) => message);
  const foreign = list.foreign.map(
    ({ index }): Reason => ({
      code: "content/not-a-message",
      rule: null,
      meaning: "The value is not a message.",
      index,
      messageId: null,
      callIds: [],
      providerSays: null,
      grade: null,
      mend: "Take the value out.",
    }),
  );
  const broken = validateHistory(sent, dialect).map(({ rule, index, message, grade }): Reason => {
    const read = list.messages[index];
    const about = read?.message;
    const ids =
      about === undefined ? [] : isResult(about) ? [callIdOf(about)] : callsOf(about).map(({ id }) => id);
    return {
      code: PAIRING_CODES[rule] ?? codeOf(rule),
      rule,
      meaning: RULES[rule],
      index: read?.index ?? index,
      messageId: about?.id ?? null,
      callIds: rule in PAIRING_CODES ? ids : [],
      providerSays: grade === "inferred" ? null : message,
      grade,
      mend: MENDS[rule] ?? AT_REQUEST,
    };
  });
  const reasons = [...foreign, ...broken].sort((one, other) => one.index - other.index);
  const refused = reasons.length > 0;
  return { schemaVersion: 1, dialect, refused, reasons, text: textOf(reasons, dialect, messages.length) };
}

function textOf(reasons: readonly Reason[], dialect: DialectName, length: number): string {
  const count = length === 1 ? "1 message" : `${length} messages`;
  if (reasons.length === 0)
    return `${dialect}: no known rule refuses ${length === 1 ? "this" : "these"} ${count}.`;
  const parts = reasons.map(({ rule, code, meaning, index, callIds, providerSays, grade, mend }) =>
    [
      `messages[${index}]  ${code}${rule === null || code.endsWith(rule) ? "" : ` (${rule})`}`,
      `  ${meaning}${callIds.length === 0 ? "" : ` Calls: ${callIds.join(", ")}.`}`,
      providerSays === null
        ? "  No report quotes the provider's error for this."
        : `  The provider answers${grade === "confirmed" ? "" : `, according to its ${grade === "source" ? "source" : "documentation"}`}: ${providerSays}`,
      `  ${mend}`,
    ].join("\n"),
  );
  return [`${dialect} refuses ${length === 1 ? "this" : "these"} ${count}:`, ...parts].join("\n\n");
}
