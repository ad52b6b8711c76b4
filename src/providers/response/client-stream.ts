/** What a run's client sees of a response while it streams, and how it is corrected if the response breaks. */

import { type BaseCallbackHandler, callbackHandlerPrefersStreaming } from "@langchain/core/callbacks/base";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  type AIMessage,
  AIMessageChunk,
  type BaseMessage,
  type BaseMessageChunk,
  RemoveMessage,
} from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { isAIMessage } from "../../history/call.js";
import { isChunk } from "../../history/message.js";
import { defined, hasMethods, pickFields } from "../../shared/values.js";
import { fromInnerModels } from "../contract/model-view.js";
import { JoinedChunks } from "./join-chunks.js";

export interface StreamIds {
  /** Whether a message in the thread, or one that clients saw, has this id. */
  readonly isTaken: (id: string) => boolean;
  /**
   * Contract: called with each piece of a message that clients see, and with its removal. Must not throw.
   *
   * @param isHeard Whether a client listens. Otherwise only the program's callbacks have it.
   */
  readonly onShown?: ((message: BaseMessage, isHeard: boolean) => void) | undefined;
}

/** A user's mark of a model whose pieces LangGraph does not stream. */
const UNHEARD = /^(?:langsmith:)?nostream$/;

/**
 * Chunks go to the handlers of the model's run, and from there LangGraph sends them on its `messages` stream. Clients
 * join chunks by id and never overwrite. So all chunks of a response share an id that no message in the thread has. A
 * response that continues the sent text sends the rest under the same id. Any other response removes the sent message
 * and comes under a new id.
 */
export class ClientStream {
  readonly #run: CallbackManagerForLLMRun | undefined;
  readonly #ids: StreamIds;
  #id: string | undefined;
  readonly #joined = new JoinedChunks();
  readonly #isHeard: boolean;
  /** What a callback of the run threw that must not fail. It ends the request. */
  failure: unknown;

  constructor(run: CallbackManagerForLLMRun | undefined, ids: StreamIds) {
    this.#run = run;
    this.#ids = ids;
    const { handlers = [], tags = [] }: { handlers?: BaseCallbackHandler[]; tags?: string[] } = Object(run);
    this.#isHeard = handlers.some(callbackHandlerPrefersStreaming) && !tags.some((tag) => UNHEARD.test(tag));
  }

  /** What all sent chunks are together. */
  get sent(): Pick<JoinedChunks, "chunks" | "message"> {
    return this.#joined;
  }

  /** No `async` function, because it would take turns of the event loop for each token. */
  forward(chunk: ChatGenerationChunk): Promise<void> | undefined {
    const { message: given, text, generationInfo } = chunk;
    const message = isAIChunk(given) ? given : asResponse(given);
    if (this.#joined.isEmpty) this.#id = this.#freshId(message.id);
    if (this.#id !== undefined && message.id !== this.#id) message._updateId(this.#id);
    // LangChain does the same for the chunks that it passes on itself.
    if (generationInfo !== undefined)
      message.response_metadata = { ...generationInfo, ...message.response_metadata };
    this.#joined.add(chunk, message);
    return this.#send(text, message);
  }

  /** Corrects what was sent, so that the client has exactly the given response. Returns the response with its id. */
  async replaceBy(response: AIMessage): Promise<AIMessageChunk> {
    const sent = this.readable;
    if (sent !== undefined && isContinuedBy(sent, response)) {
      const rest = toChunk(response, this.#id);
      rest.content = response.text.slice(sent.text.length);
      rest.response_metadata = withoutFields(response.response_metadata, sent.response_metadata);
      await this.#send(rest.text, rest);
      return toChunk(response, this.#id);
    }
    // Removed only now: until a better response exists, the reader keeps the partial one.
    await this.takeBack();
    this.#id = this.#freshId(response.id);
    const whole = toChunk(response, this.#id);
    await this.#send(whole.text, whole);
    return toChunk(response, this.#id);
  }

  /** Removes the sent message from the client. */
  async takeBack(): Promise<void> {
    if (this.#id !== undefined && !this.#joined.isEmpty)
      await this.#send("", new RemoveMessage({ id: this.#id }));
  }

  /** The message of the sent chunks. Undefined if there is none, or if they cannot be joined. */
  get readable(): AIMessageChunk | undefined {
    try {
      return this.#joined.message;
    } catch {
      return undefined;
    }
  }

  #send(text: string, message: BaseMessageChunk | RemoveMessage): Promise<void> | undefined {
    if (this.#run === undefined) return undefined;
    // The field is typed for chunks, but LangGraph passes on any message.
    const chunk = new ChatGenerationChunk({ text, message: message as BaseMessageChunk });
    const place = { prompt: 0, completion: 0 };
    this.#ids.onShown?.(message, this.#isHeard);
    return this.#run.handleLLMNewToken(text, place, undefined, undefined, undefined, { chunk });
  }

  /** An id that the client has not seen. Some providers repeat their ids, and some give none, or an empty one. */
  #freshId(given: string | undefined): string | undefined {
    // If another id was shown, the id of the run cannot be used: LangGraph would send the chunk under the shown id.
    const base = given || (this.#id ?? (this.#run && `run-${this.#run.runId}`));
    if (base === undefined) return undefined;
    const isSeen = (id: string) => id === this.#id || this.#ids.isTaken(id);
    let id = base;
    for (let count = 2; isSeen(id); count += 1) id = `${base}-${count}`;
    return id;
  }
}

/** If a server leaves out the role, OpenAI's client makes a generic message from its stream. */
function asResponse({ content, id, additional_kwargs, response_metadata }: BaseMessageChunk): AIMessageChunk {
  return new AIMessageChunk({ content, additional_kwargs, response_metadata, ...defined({ id }) });
}

/** Whether the response only adds text to what was sent. Pieces of tool calls and reasoning cannot be continued. */
function isContinuedBy(sent: AIMessageChunk, response: AIMessage): boolean {
  if (typeof sent.content !== "string" || typeof response.content !== "string") return false;
  const hasCalls = sent.tool_call_chunks?.length !== 0 || sent.tool_calls?.length !== 0;
  const hasMore = Object.values(sent.additional_kwargs).some((field) => field != null && field !== "");
  return !hasCalls && !hasMore && response.content.startsWith(sent.content);
}

/** Joining concatenates texts and adds numbers, so fields that the client has are not sent again. */
function withoutFields(fields: object, known: object): Record<string, unknown> {
  return pickFields(fields, (name) => !Object.hasOwn(known, name));
}

/** Without `tool_call_chunks`, which a lenient parser would parse again. */
function toChunk(response: AIMessage, id: string | undefined): AIMessageChunk {
  const { content, name, tool_calls, invalid_tool_calls, additional_kwargs, response_metadata } = response;
  const chunk = new AIMessageChunk({
    content,
    response_metadata,
    tool_calls: tool_calls ?? [],
    ...defined({ id, name, usage_metadata: response.usage_metadata }),
  });
  // The constructor warns of raw calls without listed ones, and empties the other field.
  chunk.additional_kwargs = additional_kwargs;
  chunk.invalid_tool_calls = invalid_tool_calls ?? [];
  return chunk;
}

export interface FailedAttempt {
  /** The number of the request, starting at 1. */
  readonly attempt: number;
  /** The client gives up after this many requests. */
  readonly maxAttempts: number;
  readonly error: unknown;
}

/** LangChain's `AsyncCaller`, whose fields are protected. */
interface Caller {
  readonly maxRetries: number;
  readonly maxConcurrency: number;
  onFailedAttempt: (error: unknown) => unknown;
}

interface RetryListener {
  /** Contract: must not throw. */
  readonly onRetry: ((failed: FailedAttempt) => void) | undefined;
  /** Contract: whether a failed attempt is not worth another one, although the client would make it. */
  readonly isFinal: (error: unknown) => boolean;
}

/**
 * Contract: called for each failure that the client will retry by its own rules, with its retry limit. Throws the error
 * if it must not.
 */
type Listener = (error: unknown, maxRetries: number) => void;

/**
 * Runs share clients, so a failure is reported to the request in the current async context. It is a field of
 * LangChain's context, because Node does work for each of a process's contexts whenever a promise is made.
 */
const LISTENER = Symbol("langgraph-tether:listener");
const watched = new WeakSet<object>();

/**
 * Makes one request to a LangChain client, and reports each failed attempt before the client waits to send it again.
 * Such a wait can last many seconds, and nothing else shows that the run is alive.
 *
 * The client's caller gets a handler around its own, once. The client still decides what is sent again, and when.
 *
 */
export function tellRetries<Result>(
  model: BaseChatModel,
  { onRetry, isFinal }: RetryListener,
  request: () => Promise<Result>,
): Promise<Result> {
  const watchCaller = (client: object) => watch(Reflect.get(client, "caller"));
  watchCaller(model);
  fromInnerModels(model, watchCaller);
  let attempt = 0;
  const listener: Listener = (error, maxRetries) => {
    if (isFinal(error)) throw error;
    attempt += 1;
    if (attempt <= maxRetries) onRetry?.({ attempt, maxAttempts: maxRetries + 1, error });
  };
  const context = AsyncLocalStorageProviderSingleton.getInstance();
  // Traces read the context too, so it is extended and not replaced.
  const store = Object.create(context.getStore() ?? null, { [LISTENER]: { value: listener } });
  return context.run(store, request);
}

function currentListener(): Listener | undefined {
  return AsyncLocalStorageProviderSingleton.getInstance().getStore()?.[LISTENER];
}

function watch(caller: unknown): void {
  if (!isCaller(caller) || watched.has(caller)) return;
  // A full queue starts a request in another request's async context.
  if (caller.maxConcurrency !== Number.POSITIVE_INFINITY || !Object.isExtensible(caller)) return;
  watched.add(caller);
  const { onFailedAttempt } = caller;
  caller.onFailedAttempt = async (error) => {
    // The client's handler throws if the request will not be sent again.
    await onFailedAttempt.call(caller, error);
    currentListener()?.(error, caller.maxRetries);
  };
}

function isCaller(value: unknown): value is Caller {
  return (
    hasMethods(value, "onFailedAttempt") &&
    typeof Object(value).maxRetries === "number" &&
    "maxConcurrency" in Object(value)
  );
}

/** Like `AIMessageChunk.isInstance`, but also true for a chunk from another copy of LangChain. */
function isAIChunk(message: BaseMessage): message is AIMessageChunk {
  return isChunk(message) && isAIMessage(message);
}
