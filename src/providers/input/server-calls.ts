/**
 * Settles calls whose results do not follow as messages of their own.
 *
 * If a response calls such a tool and one of the caller's, it ends before the provider has run its own. The provider
 * runs it after the caller's results, and its next response begins with the result. Until then the call is open, and is
 * sent. If the next response or a user message comes without a result, the call is lost, and providers refuse it.
 *
 * OpenAI's Responses API also has calls for the caller that its client does not list. One that the caller has not
 * answered by the next response was not run. Its message then ends with an output of the call's own kind that says so.
 */

import type { AIMessage, BaseMessage, MessageContent, ToolMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { createFollowing, type Follower, takeAll } from "../../history/follow-list.js";
import { contentText, copyMessage, madeOf, withTextFor } from "../../history/message.js";
import { callIdOf, createPlaceholder, isResult } from "../../history/result.js";
import { callsWithoutResult, serverCallId, serverResultId } from "../../history/server-tools.js";
import { asText } from "../../shared/json.js";
import { madeOnce } from "../../shared/values.js";
import { isNotedOwn, type Target } from "../contract/author.js";
import type { Block } from "../contract/dialect.js";
import {
  answeredIds,
  computerItems,
  hasScreenshot,
  outputKinds,
  storedOutput,
  type WaitingCall,
  waitingCalls,
} from "../contract/stored-items.js";
import { isOwnMessage } from "../rules/state.js";
import { isForeignBlock, isLeftOut } from "../table/dialects.js";

/**
 * The messages without lost calls, and with a text for each result that cannot be sent. The same array if there are
 * none.
 */
export function settleServerCalls(messages: readonly BaseMessage[], target: Target): readonly BaseMessage[] {
  const { dialect, client, host, modelId } = target;
  return follow(
    messages,
    [dialect, client, host, modelId],
    () => new Settling(target),
    (settling) => withChanges(messages, settling),
  );
}

/** The same for messages of only one request, such as shortened copies. */
export function settleServerCallsOnce(
  messages: readonly BaseMessage[],
  target: Target,
): readonly BaseMessage[] {
  return withChanges(messages, takeAll(new Settling(target), messages));
}

function withChanges(messages: readonly BaseMessage[], settling: Settling): readonly BaseMessage[] {
  settling.closeWaiting();
  const { changed } = settling;
  if (changed.size === 0) return messages;
  return messages.map((message, index) => changed.get(index) ?? message);
}

interface LastResponse {
  readonly message: AIMessage;
  readonly index: number;
  /** The calls that nobody has answered yet, by id. */
  readonly waiting: Map<string, WaitingCall>;
  readonly kinds: ReturnType<typeof outputKinds>;
  /** Results of computer calls without the screenshot that their output demands. */
  readonly results: ToolMessage[];
  /** Whether its changed form has all that is known. */
  isClosed: boolean;
}

interface OpenCall {
  readonly message: AIMessage;
  readonly index: number;
  readonly block: Block;
}

class Settling implements Follower {
  /** The messages that are sent in another form, by index. A projection's follower expects the same copies. */
  readonly changed = new Map<number, BaseMessage>();
  readonly #target: Target;
  readonly #open = new Map<string, OpenCall>();
  /** The calls that are left out, by index. */
  readonly #lost = new Map<number, Set<string>>();
  /** The last response with calls that the client does not list, or that demand a picture. */
  #last: LastResponse | undefined;

  constructor(target: Target) {
    this.#target = target;
  }

  take(message: BaseMessage, index: number): void {
    this.#takeAnswers(message, index);
    if (message.type === "tool" || message.type === "system") return;
    const isRead = isAIMessage(message) && Array.isArray(message.content);
    if (isRead) this.#readResults(message, index, message.content as Block[]);
    // What is still open is lost. Calls of this message can have the same ids.
    this.#leaveOut([...this.#open.keys()].flatMap((id) => this.#take(id)));
    if (isRead) this.#readCalls(message, index, message.content as Block[]);
  }

  #takeAnswers(message: BaseMessage, index: number): void {
    const last = this.#last;
    if (last !== undefined) {
      const before = last.waiting.size;
      for (const id of answeredIds(message)) last.waiting.delete(id);
      const words =
        isResult(message) && last.kinds.get(callIdOf(message)) === "computer" && !hasScreenshot(message);
      if (words) last.results.push(message);
      last.isClosed &&= !words && last.waiting.size === before;
    }
    if (!isAIMessage(message)) return;
    this.closeWaiting();
    this.#last = undefined;
    if (!isSentAsItems(message, this.#target)) return;
    const waiting = new Map(waitingCalls(message).map((each) => [each.call.id, each]));
    const kinds = outputKinds(message);
    if (waiting.size === 0 && kinds.size === 0) return;
    this.#last = { message, index, waiting, kinds, results: [], isClosed: waiting.size === 0 };
  }

  /**
   * Adds to the last response an output for each call that nobody has answered, and for each result without a picture.
   * It is made anew only after all answers, because a response can have many calls.
   */
  closeWaiting(): void {
    if (this.#last === undefined || this.#last.isClosed) return;
    this.#last.isClosed = true;
    const { message, index, waiting, results } = this.#last;
    const closings = [...waiting.values()].map(({ call, cause, close }) =>
      close(createPlaceholder(call, cause, "").text),
    );
    const worded = results.flatMap((result) => computerItems(callIdOf(result), contentText(result)));
    const output = [...(storedOutput(message) ?? []), ...closings, ...worded];
    const copy = copyMessage(message, { response_metadata: { ...message.response_metadata, output } });
    if (closings.length + worded.length === 0) this.changed.delete(index);
    else this.changed.set(index, madeOf(copy, [message, ...results]));
  }

  #readResults(message: AIMessage, index: number, content: Exclude<MessageContent, string>): void {
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
  }

  /** Another model's calls are not calls for this one. */
  #readCalls(message: AIMessage, index: number, content: Exclude<MessageContent, string>): void {
    if (!isOwnMessage(message, this.#target)) return;
    for (const block of callsWithoutResult(content))
      this.#open.set(asText(serverCallId(block)), { message, index, block });
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
    for (const [index, given] of new Map(calls.map((call) => [call.index, call.message]))) {
      const lost = this.#lost.get(index);
      const message: BaseMessage = this.changed.get(index) ?? given;
      if (!Array.isArray(message.content)) continue;
      const content = withTextFor(message.content, (block) => lost?.has(serverCallId(block) ?? "") !== true);
      this.changed.set(index, copyMessage(message, { content }));
    }
  }
}

function isSentAsItems(message: AIMessage, target: Target): boolean {
  return target.dialect.callPlaces.includes("output") && isOwnMessage(message, target);
}

/** The calls that the client does not list, and that no input has closed before: those of the last response. */
export function callsClosedNow(history: readonly BaseMessage[], target: Target): readonly ClosedCall[] {
  const index = history.findLastIndex(isAIMessage);
  const last = history[index];
  if (last === undefined || !isAIMessage(last) || !isSentAsItems(last, target)) return [];
  const waiting = waitingCalls(last);
  if (waiting.length === 0) return [];
  const answered = new Set(history.slice(index + 1).flatMap(answeredIds));
  return waiting.flatMap(({ call, cause }, place) =>
    answered.has(call.id)
      ? []
      : [{ call, cause, message: createPlaceholder(call, cause, `${last.id ?? index}:item:${place}`) }],
  );
}

interface ClosedCall extends Pick<WaitingCall, "call" | "cause"> {
  /** The placeholder whose text the model gets. */
  readonly message: ToolMessage;
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
