/** What a provider refuses in a history, and how well we know it. */

import type { MediaFormName } from "../input/media/media-forms.js";

/** Each rule, with the histories that break it. */
const RULES = {
  "empty-history": "There is nothing but system messages.",
  "missing-result": "A call has no result directly behind its message.",
  "orphan-result": "A result answers no call of the message before it.",
  "duplicate-result": "A call has two results.",
  "result-order": "Results do not stand in call order.",
  "call-id": "The id of a call or of its result has the wrong form.",
  "repeated-call-id": "Two calls of the history have one id.",
  "tool-name": "The name of a called tool has the wrong form.",
  "message-name": "The name of a message has the wrong form.",
  arguments: "The arguments of a call are no JSON object.",
  "empty-calls": "The client would send a list of calls that is empty.",
  role: "A message has a role that the provider does not know.",
  "content-form":
    "The content is neither a text nor a list of blocks, or the client cannot send it in this form.",
  "foreign-block": "A content block is one that the provider or its client does not know.",
  "empty-assistant": "An assistant message has neither text nor calls.",
  "blank-text": "A text, or a text block, is empty or blank.",
  "blank-user": "A user message says nothing.",
  "blank-result": "A result says nothing.",
  "text-after-call": "Text stands behind a call within one message.",
  "system-position": "A system message stands elsewhere than alone at the front.",
  "first-user": "The first message behind the system message is not the user's.",
  "assistant-last": "The last message is the assistant's.",
  "user-after-tool": "A user message follows a result.",
  alternation: "Two messages of the same role follow one another.",
  "call-position": "A message with calls follows a message of the assistant.",
  "foreign-state": "A message carries signed or stored state that another model made.",
  "item-id": "The ids of stored items do not fit the calls or the messages that carry them.",
  "missing-reasoning": "An assistant message lacks the reasoning that must be passed back.",
} as const;

export type RuleName = keyof typeof RULES;

/**
 * - `confirmed`: the provider's own error text is quoted in the source, or somebody tried it live.
 * - `source`: read in the validator's source code. `documented`: the provider's documentation says so.
 * - `inferred`: nobody has shown it. We keep to it because it costs nothing, and it is not to be quoted as a fact.
 */
export type Grade = "confirmed" | "source" | "documented" | "inferred";

export interface Rule {
  /** What the provider answers. `{ids}`, `{id}`, `{name}`, `{index}` and `{next}` are the places of the fault. */
  readonly text: string;
  readonly grade: Grade;
}

export type Rules = Readonly<Partial<Record<RuleName, Rule>>>;

/** A comment before each rule says where it was seen. A field would make every bundle longer. */
export const confirmed = (text: string): Rule => ({ text, grade: "confirmed" });
export const fromSource = (text: string): Rule => ({ text, grade: "source" });
export const documented = (text: string): Rule => ({ text, grade: "documented" });
/** Rules in our words, which all dialects share: no provider has said so. */
export function inferred<const Name extends keyof typeof INFERRED>(
  ...names: readonly Name[]
): Readonly<Record<Name, Rule>> {
  return byName(names, (name) => ({ text: INFERRED[name], grade: "inferred" }));
}

/** Rules that another dialect has, too. */
export function taken<const Name extends RuleName>(
  from: Readonly<Record<Name, Rule>>,
  ...names: readonly Name[]
): Readonly<Record<Name, Rule>> {
  return byName(names, (name) => from[name]);
}

function byName<Name extends RuleName>(names: readonly Name[], ruleOf: (name: Name) => Rule) {
  return Object.fromEntries(names.map((name) => [name, ruleOf(name)])) as Record<Name, Rule>;
}

const INFERRED = {
  "empty-history": "There are no messages.",
  "result-order": "The results must be in the order of their calls.",
  "duplicate-result": "The call {id} has two results.",
  "call-id": "The id of a tool call is not valid.",
  "repeated-call-id": "Two tool calls have the id {id}.",
  "tool-name": "The name of a tool is not valid.",
  arguments: "The arguments of a tool call must be a JSON object.",
  "empty-calls": "The list of tool calls is empty.",
  role: "The role {name} is not known.",
  "content-form": "The content must be text or a list of blocks.",
  "foreign-block": "Content blocks of type {name} are not known.",
  "system-position": "A system message must be the first message.",
} as const satisfies Partial<Record<RuleName, string>>;

/** Where in a message the LangChain client of a provider finds the calls that it sends. */
export type CallPlace =
  /** `tool_calls`. What is in `invalid_tool_calls` no client sends. */
  | "listed"
  /** `additional_kwargs.tool_calls`, and only if `tool_calls` is empty. */
  | "raw"
  /** `tool_use` blocks of the content that are not listed. */
  | "block"
  /** Items of the stored answer, `response_metadata.output`, which are sent in place of the message. */
  | "output";

/** A field that holds what only the model that wrote it can read: signatures, ids of stored items. */
export interface StateField {
  readonly place: "additional_kwargs" | "response_metadata";
  readonly name: string;
}

export interface Dialect {
  readonly rules: Rules;
  readonly callPlaces: readonly CallPlace[];
  readonly callId: RegExp;
  readonly toolName: RegExp;
  /** Blocks of an assistant's content that may be sent. Others become text, or go if they say nothing. */
  readonly assistantBlocks: readonly string[];
  /** Other blocks that the client leaves out without a word; `"all"`: it leaves out what it does not know. */
  readonly ignoredBlocks: readonly string[] | "all";
  /** Assistant blocks that only their maker can read. A subset of `assistantBlocks`. */
  readonly stateBlocks: readonly string[];
  /** Fields that only their maker can read, and that its client sends. */
  readonly stateFields: readonly StateField[];
  /** In which messages content may be a list of blocks. */
  readonly blocksIn: readonly ("human" | "ai" | "tool")[];
  /** How a user's pictures and files are written. Other blocks than those and text are told in words. */
  readonly media: MediaFormName;
  /** `response_metadata.model_provider` of messages that models of this dialect write. */
  readonly makers: readonly string[];
}
