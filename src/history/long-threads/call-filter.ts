/** Leaves old tool calls out of a list that grows. Only new messages, and those near the first call that stays, are read. */

import type { BaseMessage } from "@langchain/core/messages";
import { hasSignedReasoning, isBlankMessage, withoutCalls } from "../calls/without-calls.js";
import { createFollowing, type Follower } from "../following/follow-list.js";
import { callsOf, isAIMessage } from "../messages/call.js";
import { isResult } from "../messages/result.js";
import { joinsTurn } from "../messages/steered.js";
import { isUserMessage } from "../messages/summary.js";

/** A message with calls. */
interface Head {
  readonly message: BaseMessage;
  readonly index: number;
  readonly calls: number;
  /** How many calls the messages before it have. */
  readonly before: number;
  /** Made once, so that the next list has the same object: the message without as many of its first calls. */
  readonly shorter: Map<number, BaseMessage | undefined>;
}

/** Contract: how many of this number of calls stay. */
export type CallsLeft = (total: number) => number;

/** Expects complete groups: each call has its result, directly after its message and in call order. */
class CallFilter implements Follower {
  readonly #messages: BaseMessage[] = [];
  readonly #heads: Head[] = [];
  readonly #turnStarts: number[] = [];
  /** The messages without any calls and results. */
  readonly #texts: BaseMessage[] = [];
  /** For each message, how many of them are before it. */
  readonly #textsBefore: number[] = [];

  take(message: BaseMessage, index: number): void {
    this.#messages.push(message);
    this.#textsBefore.push(this.#texts.length);
    if (isUserMessage(message) && !joinsTurn(this.#messages, index)) this.#turnStarts.push(index);
    if (isResult(message)) return;
    const calls = callsOf(message).length;
    let text: BaseMessage | undefined = message;
    if (calls > 0) {
      const last = this.#heads.at(-1);
      const before = last === undefined ? 0 : last.before + last.calls;
      const head: Head = { message, index, calls, before, shorter: new Map() };
      this.#heads.push(head);
      text = withoutFirst(head, calls);
    }
    if (text !== undefined) this.#texts.push(text);
  }

  rewind(length: number): number {
    this.#texts.length = this.#textsBefore[length] ?? this.#texts.length;
    this.#messages.length = length;
    this.#textsBefore.length = length;
    while ((this.#heads.at(-1)?.index ?? -1) >= length) this.#heads.pop();
    while ((this.#turnStarts.at(-1) ?? -1) >= length) this.#turnStarts.pop();
    return length;
  }

  /** Undefined if no call is left out. */
  filtered(callsLeft: CallsLeft): BaseMessage[] | undefined {
    const turnStart = this.#turnStarts.at(-1) ?? -1;
    let last = this.#heads.length - 1;
    while ((this.#heads[last]?.index ?? -1) > turnStart) last -= 1;
    const latest = this.#heads[last];
    const total = latest === undefined ? 0 : latest.before + latest.calls;
    let left = callsLeft(total);
    if (left === total) return undefined;
    // The calls that stay are the last ones of the history, without gaps.
    let from = turnStart;
    for (; left > 0; last -= 1) {
      const head = this.#heads[last];
      if (head === undefined) break;
      const kept = callsToKeep(head.message, head.calls, left);
      if (kept < head.calls) return this.#withShorter(head, head.calls - kept);
      from = head.index;
      left -= kept;
    }
    return this.#texts.slice(0, this.#textsBefore[from]).concat(this.#messages.slice(from));
  }

  #withShorter(head: Head, cut: number): BaseMessage[] {
    const messages = this.#texts.slice(0, this.#textsBefore[head.index]);
    const shorter = withoutFirst(head, cut);
    if (shorter !== undefined) messages.push(shorter);
    return messages.concat(this.#messages.slice(head.index + 1 + cut));
  }
}

/**
 * How many calls of a message stay, if this many more may stay. A message with signed reasoning keeps all of its calls or
 * none, because the signature covers them.
 */
export function callsToKeep(message: BaseMessage, calls: number, left: number): number {
  if (hasSignedReasoning(message)) return calls <= left ? calls : 0;
  return Math.min(calls, left);
}

const shortened = new WeakSet<BaseMessage>();

/** Whether the message is a copy that lacks calls of the history's message. */
export function lacksCalls(message: BaseMessage): boolean {
  return shortened.has(message);
}

function withoutFirst({ message, shorter }: Head, count: number): BaseMessage | undefined {
  if (shorter.has(count)) return shorter.get(count);
  const rest = withoutFirstCalls(message, count);
  if (rest !== undefined && rest !== message) shortened.add(rest);
  shorter.set(count, rest);
  return rest;
}

/** Returns undefined if nothing worth sending remains. */
export function withoutFirstCalls(head: BaseMessage, count: number): BaseMessage | undefined {
  if (!isAIMessage(head)) return head;
  const rest = withoutCalls(head, (index) => index < count);
  return callsOf(rest).length === 0 && isBlankMessage(rest) ? undefined : rest;
}

const follow = createFollowing<CallFilter>();

/**
 * The list without the oldest calls before the current turn. Undefined if it keeps them all.
 *
 * @param messages Complete groups: each call has its result, directly after its message and in call order.
 */
export function filterFollowed(
  messages: readonly BaseMessage[],
  callsLeft: CallsLeft,
): BaseMessage[] | undefined {
  return follow(messages, "", () => new CallFilter()).filtered(callsLeft);
}
