/** Results of tool calls, and the placeholders for results that were never recorded. */

import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { asText } from "../shared/json.js";
import { textIn } from "../shared/values.js";
import type { Call } from "./call.js";
import { MARKS, withMarks } from "./marks.js";
import { placeholderId } from "./message.js";

/** The content of a result that would be empty, which some providers refuse. */
export const NO_OUTPUT = "(no output)";

/** The content of a call's result if its arguments cannot be used. */
export function refusedArguments(name: string, detail: string): string {
  return `Error: the arguments of \`${name}\` were refused, so it was not run: ${detail}`;
}

/** Marks a placeholder in `additional_kwargs`. The value is the {@link PlaceholderCause}. */
export const PLACEHOLDER_KEY = MARKS.placeholder;

const UNKNOWN_EFFECT = "It may or may not have taken effect.";

/**
 * Why a call has no result, and what that says about its effect. The texts say only what is known. They are stable to
 * the byte, because a provider's prompt cache compares them.
 */
const CAUSES = {
  unrecorded: ["unknown", `no result was recorded for it. ${UNKNOWN_EFFECT}`],
  superseded: ["unknown", `a new message came before it finished. ${UNKNOWN_EFFECT}`],
  interrupted: ["unknown", `the run ended before it finished. ${UNKNOWN_EFFECT}`],
  "invalid-arguments": ["not-started", "its arguments were not valid JSON, so it was not run."],
  "timed-out": ["unknown", `it did not finish in the time allowed. ${UNKNOWN_EFFECT}`],
  declined: ["not-started", "it was not approved, so it was not run."],
  "not-started": ["not-started", "its run ended before it was started, so it was not run."],
  failed: ["failed", `it failed before it could return a result. ${UNKNOWN_EFFECT}`],
} as const;

/** Why a tool call has a placeholder instead of a result. */
export type PlaceholderCause = keyof typeof CAUSES;

/** Where the result of a tool that is still running will be. */
export interface SentCall {
  /** The id of the checkpoint that sent the call. */
  readonly checkpoint: string;
  /** The id of the message with the call, and the call's index in it. */
  readonly place: string;
}

/** A closed call whose tool may still return. */
export interface AwaitedCall extends SentCall {
  readonly callId: string;
}

/** A placeholder's marks: its cause, and whether its call did not start, failed, or nobody knows. */
export function placeholderMarks(cause: PlaceholderCause): Readonly<Record<string, string>> {
  return { [PLACEHOLDER_KEY]: cause, [MARKS.outcome]: CAUSES[cause][0] };
}

export function isResult(message: BaseMessage): message is ToolMessage {
  return message.type === "tool";
}

/** The id of the call that a result answers; `""` if it names none. */
export function callIdOf(result: ToolMessage): string {
  return typeof result.tool_call_id === "string" ? result.tool_call_id : "";
}

/** Whether no tool returned this result: it is this library's placeholder, or another program made it up. */
export function isPlaceholder(message: BaseMessage): boolean {
  return message.additional_kwargs?.[PLACEHOLDER_KEY] !== undefined || isMadeUpResult(message);
}

/** agent-chat-ui hides messages whose id begins with this. */
export const HIDDEN_ID_PREFIX = "do-not-render-";
const MADE_UP_CONTENT = "Successfully handled tool call.";
const CANCELLED = " was cancelled - another message came in before it could be completed.";

/**
 * Whether the result was made up for a call without one. Such a result says nothing about the tool, which may be
 * running, finished or waiting for approval. Two programs make up results before a new user message:
 *
 * - agent-chat-ui sends them (its `ensureToolCallsHaveResponses`).
 * - deepagents stores them (its `createPatchToolCallsMiddleware`).
 */
export function isMadeUpResult(message: BaseMessage): boolean {
  if (!isResult(message)) return false;
  const { content, id } = message;
  if (content === MADE_UP_CONTENT) return asText(id).startsWith(HIDDEN_ID_PREFIX);
  return (
    typeof content === "string" &&
    content.endsWith(CANCELLED) &&
    content === `Tool call ${message.name} with id ${callIdOf(message)}${CANCELLED}`
  );
}

export function endingRun(result: ToolMessage): ToolMessage {
  return withMarks(result, { [MARKS.endsRun]: true });
}

/** The results at the end of a list. */
export function lastResults(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  return messages.slice(messages.findLastIndex((message) => !isResult(message)) + 1);
}

export function endsRun(message: BaseMessage): boolean {
  return isResult(message) && message.additional_kwargs?.[MARKS.endsRun] === true;
}

/**
 * The cause for the placeholder that closes a dangling call.
 *
 * @param next The message after the call's group.
 */
export function causeInHistory({ kind }: Call, next: BaseMessage | undefined): PlaceholderCause {
  if (kind === "invalid") return "invalid-arguments";
  return next?.type === "human" ? "superseded" : "unrecorded";
}

function placeholderText({ name, id }: Pick<Call, "name" | "id">, cause: PlaceholderCause): string {
  return `Tool call ${name || "(unnamed)"} (${id || "no id"}): ${causeText(cause)}`;
}

export const causeText = (cause: PlaceholderCause): string => CAUSES[cause][1];

/** The cause in a placeholder's text, for one whose mark was removed. */
export function causeInText(message: BaseMessage): PlaceholderCause | undefined {
  if (!isResult(message) || message.status !== "error") return undefined;
  const call = { name: message.name ?? "", id: callIdOf(message) };
  const causes = Object.keys(CAUSES) as PlaceholderCause[];
  return causes.find((cause) => message.content === placeholderText(call, cause));
}

/**
 * @param place Tells apart calls with the same name and id: their message's id, and the call's index.
 * @param checkpoint The id of the checkpoint that sent the call. Its tool can still be running.
 */
export function createPlaceholder(
  call: Call,
  cause: PlaceholderCause,
  place: string,
  checkpoint?: string,
): ToolMessage {
  const sent: SentCall | undefined =
    checkpoint === undefined || !MAY_BE_RUNNING.has(cause) ? undefined : { checkpoint, place };
  return new ToolMessage({
    id: placeholderId(place, cause, call.id),
    content: placeholderText(call, cause),
    tool_call_id: call.id,
    name: call.name,
    status: "error",
    additional_kwargs: { ...placeholderMarks(cause), ...(sent && { [MARKS.sent]: sent }) },
  });
}

/** What is said of a call whose tool can still return. */
const MAY_BE_RUNNING: ReadonlySet<PlaceholderCause> = new Set(["unrecorded", "superseded", "interrupted"]);

/** A placeholder's call whose tool may still return. Undefined for every other message. */
export function awaitedCallOf(message: BaseMessage): AwaitedCall | undefined {
  if (!isResult(message) || !isPlaceholder(message)) return undefined;
  const sent: unknown = message.additional_kwargs[MARKS.sent];
  const [checkpoint, place] = [textIn(sent, "checkpoint"), textIn(sent, "place")];
  return checkpoint === undefined || place === undefined
    ? undefined
    : { checkpoint, place, callId: callIdOf(message) };
}

/*
 * The mark of a message recovered from a run that ended before it could store it.
 */

/**
 * A copy of the message with the mark.
 *
 * @param after The id of the message that it follows; `""` if it is the history's first.
 */
export function markRecovered<Message extends BaseMessage>(message: Message, after: string): Message {
  return withMarks(message, { [MARKS.recovered]: { after } });
}

/** A copy of a recovered result with the mark. It names no place, because a result belongs at its call. */
export function markRecoveredResult(result: ToolMessage): ToolMessage {
  return withMarks(result, { [MARKS.recovered]: {} });
}

/** The id of the message that a recovered message follows. Undefined for every other message. */
export function recoveredAfter(message: BaseMessage): string | undefined {
  return textIn(message.additional_kwargs?.[MARKS.recovered], "after");
}

/** The message as the history stores it: the mark stays, but names no place. */
export function withoutPlace<Message extends BaseMessage>(message: Message): Message {
  if (recoveredAfter(message) === undefined) return message;
  return withMarks(message, { [MARKS.recovered]: {} });
}
