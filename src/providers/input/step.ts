/** A step of the projection, and what it says of its changes. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RuleName, Target } from "../rule.js";

/**
 * One step from the history to messages that a provider accepts. It is made once for a list, and then gets each message
 * of the list, in order.
 *
 * Contract: deterministic. Expects groups in which each tool call has one result, directly after its message and in call
 * order, and keeps them so. The output for a message depends only on that message and those before it, so a prompt cache
 * stays valid when the history grows.
 */
export interface Step {
  readonly make: (target: Target) => Change;
  readonly why: StepReason;
}

/**
 * The message in its new form. Undefined leaves it out. A message without a reason to change keeps its identity.
 *
 * @param index How many messages before it are sent.
 */
export type Change = (message: BaseMessage, index: number) => BaseMessage | undefined;

/**
 * Says what a step did to a message. It reads the difference, and decides nothing.
 *
 * Contract: does not throw, and does not quote the text of messages.
 */
export type StepReason = (change: MadeChange) => Reason | readonly Reason[];

export interface Reason {
  readonly code: InputReasonCode;
  /** One sentence. */
  readonly text: string;
  /** The rules that demand it. The first one that the dialect has is named as the source. */
  readonly rules?: readonly RuleName[];
}

/** A change that a step has made. `after` is undefined if the message is left out. */
interface MadeChange {
  readonly before: BaseMessage;
  readonly after: BaseMessage | undefined;
  readonly target: Target;
}

/** Why a message is changed, left out or added. */
export interface InputReason {
  /** A stable code. */
  readonly code: InputReasonCode;
  /** One sentence for people. It contains ids and names, and no text of messages. */
  readonly text: string;
  /** Where a provider's demand is documented or was reported, as a URL. */
  readonly source?: string;
}

/** The code of a reason. */
export type InputReasonCode =
  /** Left out: the value is not a message. */
  | "not-a-message"
  /** Left out: a removal in the list names it, or it is the removal. */
  | "removed"
  /** Left out: a summary represents it. */
  | "covered"
  /** Left out: the provider has compacted it by itself. */
  | "compacted"
  /** Left out: a result without a call before it. */
  | "orphan-result"
  /** Left out: another result of its call is sent. */
  | "duplicate-result"
  /** Left out, or sent with fewer calls: `maxToolCallsFromHistory`. */
  | "filtered"
  /** Left out: it says nothing. */
  | "blank"
  /** Left out: the input would be longer than `maxTokens`. */
  | "over-bound"
  /** Changed: it is sent in another place than the history has it. */
  | "moved"
  /** Changed: a malformed field was brought into a sound form. */
  | "mended"
  /** Changed: it has a role that providers do not know. */
  | "role-changed"
  /** Changed: a result whose call is covered by a summary is told as a text. */
  | "late-result"
  /** Changed: it is a part of the one system message. */
  | "system-joined"
  /** Changed: its calls are sent in one list, with objects as arguments. */
  | "calls-listed"
  /** Changed: half of a surrogate pair, such as half of an emoji, was replaced. */
  | "characters-replaced"
  /** Changed: what only the model that wrote it can read was removed, such as signed reasoning. */
  | "state-removed"
  /** Changed: a call of a tool that the provider runs, or its result, was removed, because the other one is missing. */
  | "server-call-removed"
  /** Changed: pictures or files are in the form that the client takes. */
  | "media-converted"
  /** Changed: the content is in a form that the provider accepts. */
  | "content-changed"
  /** Changed: a name of a tool or of a message has a form that the provider accepts. */
  | "name-changed"
  /** Changed: an empty content has a short text. */
  | "blank-filled"
  /** Changed: the id of a call has a form that the provider accepts, and is the only one. */
  | "call-id-renamed"
  /** Changed: it does not refer to items that the provider stores. */
  | "stored-items-removed"
  /** Changed: reasoning was added because the provider demands it, or removed. */
  | "reasoning-changed"
  /** Changed: it is sent as one message with its neighbours of the same role. */
  | "merged"
  /** Changed: a part of it is sent, because the input would be longer than `maxTokens`. */
  | "shortened"
  /** Added: the system prompt. */
  | "system-prompt"
  /** Added: a placeholder for a result that is missing. */
  | "placeholder"
  /** Added: a short message between others, where the provider demands one. */
  | "bridge"
  /** Added: a note in place of messages that are left out. */
  | "gap-note";
