/** Says why a provider refuses a list of messages, offline. */

import { InvalidMessageError } from "../errors.js";
import { type DialectName, dialectNamed } from "../providers/dialects.js";
import { type Dialect, type Grade, RULES, type RuleName } from "../providers/rule.js";
import { violationsAt } from "../providers/validate-history.js";
import { readList } from "./examine.js";
import type { FindingCode } from "./finding.js";
import { codeOf } from "./findings.js";
import { type RequestBody, readRequestBody } from "./request-body.js";

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

const isAboutPairing = (rule: RuleName): boolean => codeOf(rule).startsWith("pairing/");

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
 * @param given Messages or message-likes, exactly as they are sent. Or the body of a request, as JSON: OpenAI's chat
 *   completions or Responses, Anthropic's Messages, or Gemini's `generateContent`.
 * @param options The default of `dialect` is the provider whose form the body has, and `"strict"` for messages.
 * @throws InvalidSettingError for an unknown dialect, and for a body that goes on with messages that OpenAI has stored.
 * @throws InvalidMessageError if it is neither.
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
  given: readonly unknown[] | object,
  options: { readonly dialect?: DialectName | undefined } = {},
): Explanation {
  const body = readRequestBody(given);
  const { messages, foreign, entries } = body ?? readMessageList(given);
  const { length } = entries;
  const { dialect = body?.form.dialect ?? "strict" } = options;
  const ids = new Map(messages.map(({ message, index }) => [index, message.id] as const).toReversed());
  const violations = violationsAt(
    messages.map(({ message }) => message),
    dialect,
    (place) => messages[place]?.index ?? length,
  );
  const broken = (body === undefined ? violations : violationsOfBody(body, violations, dialect)).map(
    ({ rule, index, message, grade, ids: callIds }): Reason => ({
      code: codeOf(rule),
      rule,
      meaning: RULES[rule].meaning,
      index,
      messageId: ids.get(index) ?? null,
      callIds: isAboutPairing(rule) ? callIds : [],
      providerSays: grade === "inferred" ? null : wordsFor(rule, message, callIds[0], body),
      grade,
      mend: MENDS[rule] ?? AT_REQUEST,
    }),
  );
  const taken = foreign.map((index) => ({ ...NOT_A_MESSAGE, index }));
  const reasons = [...taken, ...broken].sort((one, other) => one.index - other.index);
  const text = textOf(reasons, dialect, length, body?.form.list ?? "messages");
  return { schemaVersion: 1, dialect, refused: reasons.length > 0, reasons, text };
}

const NOT_A_MESSAGE: Omit<Reason, "index"> = {
  code: "content/not-a-message",
  rule: null,
  meaning: "The value is not a message.",
  messageId: null,
  callIds: [],
  providerSays: null,
  grade: null,
  mend: "Take the value out.",
};

function readMessageList(given: unknown): Pick<RequestBody, "messages" | "foreign" | "entries"> {
  if (!Array.isArray(given))
    throw new InvalidMessageError("messages", given, "a list of messages, or the body of a request");
  const { messages, foreign } = readList(given);
  return { messages, foreign: foreign.map(({ index }) => index), entries: given };
}

/** The words of a rule, as the provider has them for this call. Null if nobody knows those. */
function wordsFor(
  rule: RuleName,
  words: string,
  callId: string | undefined,
  body: RequestBody | undefined,
): string | null {
  if (callId === undefined) return words;
  // An id can break the rule in another way than by its length.
  const [, maximum] = /maximum length (\d+)/.exec(words) ?? [];
  if (rule === "call-id" && callId.length <= Number(maximum)) return null;
  if (!isAboutPairing(rule) || !body?.customCalls.has(callId)) return words;
  // Quoted in diegosouzapw/OmniRoute/issues/8946.
  return rule === "missing-result" ? words.replace("function call", "custom tool call") : null;
}

type Placed = ReturnType<typeof violationsAt>[number];

/** A body is what the provider has got, so a rule that nobody has seen applied is no reason, with exceptions. */
function violationsOfBody(
  { entries, faults }: RequestBody,
  violations: readonly Placed[],
  dialect: DialectName,
): Placed[] {
  const { rules }: Dialect = dialectNamed(dialect);
  // A user sends results too, so the first entry can be one of the user although its first message is a result.
  const first = entries.find((entry) => Object(entry).role !== "system");
  const beginsWithUser = Object(first).role === "user";
  const applied = violations.filter(({ rule, grade }) => {
    if (rule === "first-user") return grade !== "inferred" && !beginsWithUser;
    const isSeen = rule === "duplicate-result" || rule === "role";
    return grade !== "inferred" || isSeen || (rule === "empty-history" && entries.length === 0);
  });
  const known = new Set(applied.map(({ rule, index }) => `${rule} ${index}`));
  const others = faults.flatMap(({ rule, index, name = "", isQuoted }): Placed[] => {
    const entry = rules[rule];
    if (entry === undefined || known.has(`${rule} ${index}`)) return [];
    const message = entry.text.replace("{index}", String(index)).replace("{name}", () => name);
    return [{ rule, index, message, grade: isQuoted ? entry.grade : "inferred", ids: [] }];
  });
  return [...applied, ...others];
}

function textOf(reasons: readonly Reason[], dialect: DialectName, length: number, name: string): string {
  const count = length === 1 ? "1 message" : `${length} messages`;
  if (reasons.length === 0)
    return `${dialect}: no known rule refuses ${length === 1 ? "this" : "these"} ${count}.`;
  const parts = reasons.map(({ rule, code, meaning, index, callIds, providerSays, grade, mend }) =>
    [
      `${name}[${index}]  ${code}${rule === null || code.endsWith(rule) ? "" : ` (${rule})`}`,
      `  ${meaning}${callIds.length === 0 ? "" : ` Calls: ${callIds.map((id) => id || "(no id)").join(", ")}.`}`,
      providerSays === null
        ? "  No report quotes the provider's error for this."
        : `  The provider answers${grade === "confirmed" ? "" : `, according to its ${grade === "source" ? "source" : "documentation"}`}: ${providerSays}`,
      `  ${mend}`,
    ].join("\n"),
  );
  const sections = [...new Set(reasons.flatMap(({ rule }) => (rule === null ? [] : `#${rule}`)))].join(", ");
  const page = sections === "" ? [] : [`Why it happens, and what to do: docs/troubleshooting.md${sections}`];
  return [`${dialect} refuses ${length === 1 ? "this" : "these"} ${count}:`, ...parts, ...page].join("\n\n");
}
