/** What a provider demands of a history, in its words, and how well we know it. The rules themselves are in `rules/`. */

/** The names of the rules. */
export type RuleName =
  | "missing-result"
  | "orphan-result"
  | "duplicate-result"
  | "result-order"
  | "duplicate-call-id"
  | "repeated-call-id"
  | "empty-history"
  | "text-after-call"
  | "system-position"
  | "first-user"
  | "assistant-last"
  | "user-after-tool"
  | "alternation"
  | "call-position"
  | "call-id"
  | "server-call-without-result"
  | "server-result-without-call"
  | "tool-name"
  | "message-name"
  | "arguments"
  | "empty-calls"
  | "role"
  | "unpaired-surrogate"
  | "content-form"
  | "foreign-block"
  | "foreign-field"
  | "cache-marks"
  | "empty-assistant"
  | "blank-text"
  | "blank-user"
  | "blank-result"
  | "foreign-state"
  | "item-id"
  | "reasoning-alone"
  | "missing-reasoning";

/**
 * - `confirmed`: the source quotes the provider's error text, or somebody tried it live.
 * - `source`: read in the validator's source code.
 * - `documented`: the provider's documentation says so.
 * - `inferred`: nobody quotes the provider's words. We follow the rule because it costs nothing, or because somebody reports
 *   the refusal. Do not quote it as a fact.
 */
export type Grade = "confirmed" | "source" | "documented" | "inferred";

/** A rule as a provider states it. */
export interface StatedRule {
  /** The beginning of the provider's error, long enough to search for. `{ids}`, `{id}`, `{name}`, `{index}` and `{next}` are filled in from the fault. */
  readonly text: string;
  readonly grade: Grade;
  /** Where it was reported, documented or read, below `https://github.com/`. Undefined if nobody has reported it. */
  readonly source: string | undefined;
  /** The names of models that have been seen to accept what breaks it. Undefined: none is known. */
  readonly unless?: RegExp;
}

export type StatedRules = Readonly<Partial<Record<RuleName, StatedRule>>>;

/** Short, because each bundle has all sources: the page's path on GitHub. */
export const confirmed = (text: string, source: string): StatedRule => ({ text, grade: "confirmed", source });
export const fromSource = (text: string, source: string): StatedRule => ({ text, grade: "source", source });
/** No provider has stated it. With a source, somebody has seen the refusal without quoting it. */
export const inferred = (text: string, source?: string): StatedRule => ({ text, grade: "inferred", source });

/** The rules that a dialect has unless its folder says otherwise, in our own words. */
export const EVERYWHERE = {
  "empty-history": inferred("There are no messages."),
  "duplicate-result": inferred("The call {id} has two results."),
  "call-id": inferred("The id of a tool call is not valid."),
  "duplicate-call-id": inferred("Two tool calls of one message have the id {id}."),
  "tool-name": inferred("The name of a tool is not valid."),
  arguments: inferred("The arguments of a tool call must be a JSON object."),
  "unpaired-surrogate": inferred("A text is not valid Unicode."),
  "content-form": inferred("The content must be text or a list of blocks."),
} as const satisfies StatedRules;

/** Rules in our own words that some dialects have. */
export const INFERRED = {
  "result-order": inferred("The results must be in the order of their calls."),
  "empty-calls": inferred("The list of tool calls is empty."),
  "foreign-block": inferred("Content blocks of type {name} are not known."),
  "system-position": inferred("A system message must be the first message."),
  // Clients throw for others.
  role: inferred("The role {name} is not known."),
} as const satisfies StatedRules;
