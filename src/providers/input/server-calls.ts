/**
 * Settles calls of provider-run tools whose results are not in the same message.
 *
 * If a response calls such a tool and one of the caller's, it ends before the provider has run its own. The provider
 * runs it after the caller's results, and its next response begins with the result. Until then the call is open, and is
 * sent. If the next response or a user message comes without a result, the call is lost, and providers refuse it.
 */

import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { createFollowing, type Follower } from "../../history/follow-list.js";
import { copyMessage, withTextFor } from "../../history/message.js";
import { callsWithoutResult, serverCallId, serverResultId } from "../../history/server-tools.js";
import { asText } from "../../shared/json.js";
import { madeOnce } from "../../shared/values.js";
import { type Block, isNotedOwn, type Target } from "../contract/rule.js";
import { isForeignBlock, isLeftOut } from "../table/dialects.js";
import { isOwnMessage } from "./steps/own-state.js";

/**
 * The messages without lost calls, and with a text for each result that cannot be sent. The same array if there are
 * none.
 */
export function settleServerCalls(messages: readonly BaseMessage[], target: Target): readonly BaseMessage[] {
  const { dialect, client, host, modelId } = target;
  const variant = [dialect.makers, client, host, modelId].join(" ");
  return withChanges(
    messages,
    follow(messages, variant, () => new Settling(target)),
  );
}

/** The same for messages of only one request, such as shortened copies. */
export function settleServerCallsOnce(
  messages: readonly BaseMessage[],
  target: Target,
): readonly BaseMessage[] {
  const settling = new Settling(target);
  for (const [index, message] of messages.entries()) settling.take(message, index);
  return withChanges(messages, settling);
}

function withChanges(messages: readonly BaseMessage[], { changed }: Settling): readonly BaseMessage[] {
  if (changed.size === 0) return messages;
  return messages.map((message, index) => changed.get(index) ?? message);
}

interface OpenCall {
  readonly index: number;
  readonly block: Block;
}

class Settling implements Follower {
  /** The messages that are sent in another form, by index. A projection's follower expects the same copies. */
  readonly changed = new Map<number, BaseMessage>();
  readonly #target: Target;
  readonly #messages = new Map<number, AIMessage>();
  readonly #open = new Map<string, OpenCall>();
  /** The calls that are left out, by index. */
  readonly #lost = new Map<number, Set<string>>();

  constructor(target: Target) {
    this.#target = target;
  }

  take(message: BaseMessage, index: number): void {
    if (message.type === "tool" || message.type === "system") return;
    const before = [...this.#open.keys()];
    if (isAIMessage(message) && Array.isArray(message.content)) this.#read(message, index, message.content);
    this.#leaveOut(before.flatMap((id) => this.#take(id)));
  }

  #read(message: AIMessage, index: number, content: Exclude<MessageContent, string>): void {
    const isOwn = isOwnMessage(message, this.#target);
    // This library's view of the client sends all blocks.
    const isWhole = isNotedOwn(message, this.#target);
    const own = new Set(content.map(serverCallId));
    const told = new Map<Block, Block | undefined>();
    const lost: OpenCall[] = [];
    for (const block of content) {
      const id = serverResultId(block);
      if (id === undefined || own.has(id)) continue;
      const [call] = this.#take(id);
      if (call !== undefined && (isWhole || (isOwn && this.#isSent(block)))) continue;
      told.set(block, call?.block);
      if (call !== undefined) lost.push(call);
    }
    this.#leaveOut(lost);
    if (told.size > 0) this.changed.set(index, withTexts(message, content, told));
    // Another model's calls are not calls for this one.
    for (const block of isOwn ? callsWithoutResult(content) : []) {
      this.#open.set(asText(serverCallId(block)), { index, block });
      this.#messages.set(index, message);
    }
  }

  #isSent(block: Block): boolean {
    const { dialect } = this.#target;
    return !isForeignBlock(block, dialect) && !isLeftOut(block, dialect);
  }

  /** The open call with this id, which is then not open any more. None if there is none. */
  #take(id: string): readonly OpenCall[] {
    const call = this.#open.get(id);
    this.#open.delete(id);
    return call === undefined ? [] : [call];
  }

  /** Makes each message anew once, because one can have many such calls. */
  #leaveOut(calls: readonly OpenCall[]): void {
    for (const { index, block } of calls)
      madeOnce(this.#lost, index, () => new Set()).add(serverCallId(block) ?? "");
    for (const index of new Set(calls.map((call) => call.index))) {
      const lost = this.#lost.get(index);
      const message = this.changed.get(index) ?? this.#messages.get(index);
      if (message === undefined || !Array.isArray(message.content)) continue;
      const content = withTextFor(message.content, (block) => lost?.has(serverCallId(block) ?? "") !== true);
      this.changed.set(index, copyMessage<BaseMessage>(message, { content }));
    }
  }
}

/** The message with a text for each of these results, which also tells its call. */
function withTexts(
  message: AIMessage,
  content: Exclude<MessageContent, string>,
  told: ReadonlyMap<Block, Block | undefined>,
): AIMessage {
  const calls = new Set([...told.values()].filter((call) => call !== undefined));
  const blocks = withTextFor([...calls, ...content], (block) => !told.has(block) && !calls.has(block));
  return copyMessage(message, { content: blocks });
}

const follow = createFollowing<Settling>();
