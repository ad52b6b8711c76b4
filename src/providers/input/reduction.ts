/** What a request leaves out or says in another form, because its provider takes no more, or has refused more. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { callsOf, isAIMessage } from "../../history/call.js";
import { withListedCalls } from "../../history/change-calls.js";
import { createFollowing, createMemo, type Follower } from "../../history/follow-list.js";
import { copyMessage, deriveId, madeOf } from "../../history/message.js";
import { createSummaryNote, isUserMessage } from "../../history/summary.js";
import { renderMessage } from "../../history/transcript.js";
import { least } from "../../shared/values.js";
import type { Target } from "../contract/author.js";
import type { Counted } from "../contract/dialect.js";
import { faultOfMedia, mediaOf, type ShownMedia, surplusPictures } from "../media/media-limits.js";
import type { Conversation } from "./projection.js";

/** What is changed besides the dialect's rules. The history does not change. */
export interface Reduction {
  /** The fingerprints of the pictures and files that are described. */
  readonly described?: readonly string[];
  /** The most of each that a request may have. `calls` counts one message's calls. */
  readonly most?: Readonly<Partial<Record<Counted, number>>>;
  /** Whether one text replaces everything before the current turn. */
  readonly isRetold?: boolean;
  /** The id of the user message whose turn shows no pictures or files at all, even later ones. */
  readonly describesTurn?: string;
}

export const REFUSED = "the provider of the model has refused it";
const TOO_MANY = "the request would have too many pictures";

interface Reduced {
  /** What is left of the conversation. */
  readonly input: Conversation;
  /** With the pictures that are described. */
  readonly target: Target;
  /** The text that replaces everything before the current turn. */
  readonly note: BaseMessage | undefined;
}

/** @param markedTools How many of the request's tools have a prompt cache mark. */
export function reduceConversation(
  conversation: Conversation,
  target: Target,
  markedTools: number,
  reduction: Reduction = {},
): Reduced {
  const { described = [], most = {}, isRetold = false } = reduction;
  const { dialect } = target;
  const retold = isRetold ? retellEarlier(conversation) : conversation;
  const note = retold === conversation ? undefined : retold.messages[0];
  const marks = least(dialect.most?.marks, most.marks);
  const marked = marks === undefined ? retold : { ...retold, mostMarks: marks - markedTools };
  const calls = least(dialect.most?.calls, most.calls);
  const limits = dialect.mediaLimits ?? {};
  const mostPictures = least(limits.mostPictures, most.pictures);
  const reasons = new Map(described.map((fingerprint) => [fingerprint, REFUSED]));
  const targetFor = () => (reasons.size === 0 ? target : { ...target, described: reasons });
  // Counting reads every message.
  if ((calls ?? mostPictures ?? limits.manyPictures) === undefined)
    return { input: marked, target: targetFor(), note };
  const counts = countsOf(marked.messages);
  const input = calls === undefined || counts.mostCalls <= calls ? marked : withSplitCalls(marked, calls);
  const surplus = surplusPictures(
    counts.pictures,
    { ...limits, ...(mostPictures !== undefined && { mostPictures }) },
    (shown) => reasons.has(shown.fingerprint) || faultOfMedia(shown, limits) !== undefined,
  );
  for (const fingerprint of surplus) reasons.set(fingerprint, TOO_MANY);
  return { input, target: targetFor(), note };
}

/** What is counted in a list. Only messages that are new since the last list are read. */
class Counts implements Follower {
  readonly pictures: ShownMedia[] = [];
  /** The most calls that any message has. */
  mostCalls = 0;

  take(message: BaseMessage): void {
    if (isAIMessage(message)) this.mostCalls = Math.max(this.mostCalls, callsOf(message).length);
    else
      for (const { shown } of mediaOf([message])) if (shown.media.kind === "image") this.pictures.push(shown);
  }
}

const follow = createFollowing<Counts>();
const countsOf = (messages: readonly BaseMessage[]) =>
  follow(
    messages,
    [],
    () => new Counts(),
    ({ pictures, mostCalls }) => ({ pictures: pictures.slice(), mostCalls }),
  );

/** The most messages that a request of this target may have. Undefined: any number. */
export function mostMessagesOf({ dialect }: Target, { most }: Reduction = {}): number | undefined {
  return least(dialect.most?.messages, most?.messages);
}

/*
 * Splits a message with more calls than its provider accepts. Each part has its calls' results.
 */

function withSplitCalls(conversation: Conversation, most: number): Conversation {
  const { messages } = conversation;
  const isTooLong = (message: BaseMessage) => isAIMessage(message) && callsOf(message).length > most;
  if (most < 1 || !messages.some(isTooLong)) return conversation;
  const split: BaseMessage[] = [];
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as BaseMessage;
    if (!isAIMessage(message) || !isTooLong(message)) {
      split.push(message);
      continue;
    }
    // Each call has one result, in call order.
    const results = messages.slice(index + 1, index + 1 + callsOf(message).length);
    for (const [place, part] of splitMessage(message, most).entries())
      split.push(part, ...results.slice(place * most, (place + 1) * most));
    index += results.length;
  }
  return { ...conversation, messages: split };
}

const knownParts = createMemo<readonly AIMessage[]>();

/** The first part has the text and the reasoning. */
function splitMessage(message: AIMessage, most: number): readonly AIMessage[] {
  return knownParts(message, String(most), () => {
    const listed = withListedCalls(message);
    const calls = listed.tool_calls ?? [];
    const { output: _, ...response_metadata } = listed.response_metadata ?? {};
    return Array.from({ length: Math.ceil(calls.length / most) }, (_, place) => {
      const tool_calls = calls.slice(place * most, (place + 1) * most);
      if (place === 0) return copyMessage(listed, { tool_calls, response_metadata });
      const part = copyMessage(listed, { tool_calls, response_metadata, content: "", additional_kwargs: {} });
      return madeOf(copyMessage(part, { id: deriveId(part, message.id ?? "", place) }), [message]);
    });
  });
}

/*
 * Tells what comes before the current turn as one text. Only its roles and texts are left, so it can break no rule
 * about calls, results, ids, blocks or order.
 */

function retellEarlier(conversation: Conversation): Conversation {
  const { messages } = conversation;
  const start = messages.findLastIndex(isUserMessage);
  if (start <= 0) return conversation;
  const earlier = messages.slice(0, start);
  const text = earlier.map(renderMessage).join("\n\n").toWellFormed();
  const note = createSummaryNote(
    `[This is the conversation so far, as a text. The user did not write this note.]\n\n${text}`,
  );
  return { ...conversation, messages: [madeOf(note, earlier), ...messages.slice(start)] };
}
