/** Asks a model, and accepts only a complete response. A broken one is requested again, in one piece. */

import { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { type Runnable, RunnableBinding, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { concat } from "@langchain/core/utils/stream";
import { ModelError } from "../../errors.js";
import { callsOf, isAIMessage } from "../../history/call.js";
import { isBlankMessage, withoutCalls } from "../../history/change-calls.js";
import { copyMessage } from "../../history/message.js";
import { coerceMessage } from "../../history/read-messages.js";
import { isError } from "../../shared/is-error.js";
import { defined, prototypeWith, recordsIn, textIn } from "../../shared/values.js";
import { boundView, viewOf } from "../../shared/views.js";
import { Patience } from "../../shared/waiting.js";
import { type Asked, isSameModel, RESPONSES, readMaker, withAsked } from "../contract/author.js";
import { isChatModel, partsOf, withParameters } from "../contract/model-view.js";
import { inKnownApi } from "../contract/openai-api.js";
import { isFailedSample } from "../failure/failed-sample.js";
import {
  isAbortError,
  isEmptyResponse,
  isLost,
  isProgramFault,
  isRefusal,
  toModelError,
} from "../failure/model-failure.js";
import { readOverflow } from "../failure/overflow.js";
import { wordsOf } from "../failure/own-words.js";
import { carryHostFields } from "../host-fields/client.js";
import { identityOf } from "../table/dialect-of.js";
import { PROVIDERS } from "../table/providers.js";
import { ClientStream, type FailedAttempt, type StreamIds, tellRetries } from "./client-stream.js";
import { type Manner, mayBeOfManner, noteAnswered, onlyManner, otherThan } from "./manner.js";
import {
  BROKEN_REASONS,
  type BrokenReason,
  type FinishHabit,
  faultOf,
  faultOfText,
  finishHabitOf,
  finishKindOf,
  finishReasonOf,
  LASTING_REASONS,
  type StreamedResponse,
  type Withheld,
  withheldIn,
} from "./verdict.js";

export type Askable = Runnable<BaseLanguageModelInput, AIMessageChunk>;

/**
 * A model's complete response; see `guardedResponse`. It is streamed if somebody listens, as the model's client alone
 * would be: LangChain decides it by the handlers of the run. The parameters apply to this request; see
 * `withParameters`.
 *
 * The model, alone or with bound tools, is asked by a view of it, not by a model around it. So it keeps its default
 * options, call options, trace name and serialized form. (`ChatOpenAI` keeps bound tools in its defaults and adds them
 * only in `invoke` and `stream`. With a model around it, its request would have no tools.) A value that is not a chat
 * model is asked as it is.
 *
 * @throws ModelError if there is no complete response.
 */
export async function askGuarded(
  model: Askable,
  guard: StreamGuardOptions,
  messages: BaseMessage[],
  options: RunnableConfig,
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<BaseMessage> {
  const held: Held = {};
  const guarded = await guardModel(model, guard, held, options, parameters);
  // What a model asks other models is not shown, so it does not find the run in its context.
  const invoked = await AsyncLocalStorageProviderSingleton.runWithConfig(
    options,
    () => guarded.invoke(messages, options),
    true,
  );
  const response = held.response === undefined ? invoked : withId(held.response, invoked.id);
  // A program's own Runnable can return anything.
  if (typeof response !== "object") return response;
  return PROVIDERS.reduce((message, { mendResponse }) => mendResponse?.(message) ?? message, response);
}

/** The response of a model that was asked for events. LangChain returns what it has read from them, which is less. */
interface Held {
  response?: AIMessageChunk;
}

function withId(response: AIMessageChunk, id: string | undefined): AIMessageChunk {
  return response.id === undefined && id !== undefined ? copyMessage(response, { id }) : response;
}

async function guardModel(
  model: Askable,
  guard: StreamGuardOptions,
  held: Held,
  config: RunnableConfig,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Askable> {
  if (RunnableBinding.isRunnableBinding(model)) {
    const bound = await guardModel(model.bound, guard, held, config, parameters);
    return viewOf(model, { bound });
  }
  const made = await madeModel(model, config);
  if (made !== model) return guardModel(made as Askable, guard, held, config, parameters);
  if (!isChatModel(model)) return model;
  return guardedView(withParameters(inKnownApi(model), parameters), guard, held, model);
}

/** `initChatModel`, and an agent whose model is a name, have an object that makes the model on demand. */
export async function madeModel(model: object, config: RunnableConfig): Promise<object> {
  const make: unknown = Reflect.get(model, "_getModelInstance");
  return typeof make === "function" ? make.call(model, config) : model;
}

/** @param original The model without parameters. A view's provider cannot be recognised. */
function guardedView(
  model: BaseChatModel,
  guard: StreamGuardOptions,
  held: Held,
  original: BaseChatModel,
): Askable {
  const identity = identityOf(model);
  const habit = finishHabitOf(original);
  const mended = PROVIDERS.reduce(
    (view, { mendClient }) => mendClient?.(view, identity) ?? view,
    carryHostFields(model, identity),
  );
  const answer = async (manner: Manner, messages: BaseMessage[], options: CallOptions, run: Run) => {
    const ask = (client: BaseChatModel) =>
      guardedResponse({ model: client, original, guard, habit, manner, messages, options, run });
    const response = await askOnView(mended, original, ask).catch((error: unknown) => {
      throw toModelError(error, { model: original, messages, signal: options.signal });
    });
    noteModel(response.message, identityOf(original));
    return response;
  };
  const members = {
    async *_streamResponseChunks(
      messages: BaseMessage[],
      options: CallOptions,
      run?: CallbackManagerForLLMRun,
    ) {
      const { message } = await answer("streamed", messages, options, run);
      yield new ChatGenerationChunk({ text: message.text, message });
    },
    async _generate(
      messages: BaseMessage[],
      options: CallOptions,
      run?: CallbackManagerForLLMRun,
    ): Promise<ChatResult> {
      // With this field, the common clients also stream if nobody listens.
      const manner = Reflect.get(model, "streaming") === true ? "streamed" : "whole";
      const { message, generationInfo, llmOutput } = await answer(manner, messages, options, run);
      return {
        generations: [{ text: message.text, message, ...defined({ generationInfo }) }],
        ...defined({ llmOutput }),
      };
    },
    async *_streamChatModelEvents(this: BaseChatModel, messages: BaseMessage[], options: CallOptions) {
      const { message } = await answer("streamed", messages, options, undefined);
      held.response = message;
      const chunk = new ChatGenerationChunk({ text: message.text, message: held.response });
      const events = viewOf(this, {
        _streamResponseChunks: async function* () {
          yield chunk;
        },
      });
      yield* baseOf(model)?._streamChatModelEvents.call(events, messages, options) ?? [];
    },
    // The guard also handles a model that does not stream.
    disableStreaming: false,
    // LangChain would store and return a response as it is, with an id that a thread has.
    cache: undefined,
  };
  return boundView(model, members, INVOKING_METHODS);
}

/** User classes whose methods failed on a view, because it lacks their `#private` fields. */
const withoutViews = new WeakSet<object>();

/**
 * Asks a view of the model. If its class cannot run on a view, asks the model itself, which then gets only the request.
 */
async function askOnView<Result>(
  view: BaseChatModel,
  model: BaseChatModel,
  ask: (client: BaseChatModel) => Promise<Result>,
): Promise<Result> {
  if (withoutViews.has(model.constructor)) return ask(model);
  try {
    return await ask(view);
  } catch (error) {
    if (view === model || !isPrivateAccess(error)) throw error;
    const result = await ask(model);
    withoutViews.add(model.constructor);
    return result;
  }
}

/** The words of V8 and of Babel. A client's other errors can quote the request, so they must begin like this. */
const PRIVATE_ACCESS =
  /^(?:Cannot (?:read|write) private member |Receiver must be an instance of |attempted to \w+ private )/;

function isPrivateAccess(error: unknown): boolean {
  return isError(error) && error.name === "TypeError" && PRIVATE_ACCESS.test(error.message);
}

/**
 * Each stored response knows its model, so that state that only this model can read goes to no other. Anthropic's
 * client has the name elsewhere in a stream, and Google's clients have none. A response with more than text and plain
 * calls also knows who was asked, because its model can have several names, and a model several hosts.
 */
function noteModel(message: AIMessageChunk, asked: Asked): void {
  const name = textIn(message.additional_kwargs, "model") ?? asked.modelId;
  if (name !== undefined && readMaker(message).model === undefined)
    message.response_metadata = { ...message.response_metadata, model_name: name };
  const answered = readMaker(message).model ?? "";
  if (isPlain(message) && isSameModel(answered, asked.modelId ?? "")) return;
  const { client } = asked;
  const isOfResponses =
    Array.isArray(message.response_metadata["output"]) && client?.endsWith(RESPONSES) === false;
  const told = isOfResponses ? { ...asked, client: client + RESPONSES } : asked;
  message.additional_kwargs = withAsked(message, told).additional_kwargs;
}

/** Whether nothing in a response is beyond text and plain calls. */
function isPlain({
  content,
  tool_calls = [],
  additional_kwargs,
  response_metadata,
}: AIMessageChunk): boolean {
  const has = (value: object, ...names: readonly string[]) =>
    Object.entries(value).every(([name, field]) => names.includes(name) || field === undefined);
  const isText = (block: object) => has(block, "type", "text", "index") && "text" in block;
  return (
    (typeof content === "string" || content.every(isText)) &&
    tool_calls.every((call) => has(call, "type", "id", "name", "args")) &&
    has(additional_kwargs, "tool_calls") &&
    recordsIn(additional_kwargs["tool_calls"]).every((call) =>
      has(call, "id", "type", "index", "function"),
    ) &&
    // The items of a response.
    Object.values(response_metadata).every((value) => !Array.isArray(value) || value.length === 0)
  );
}

/*
 * Accepts only complete responses from a model. A broken response is requested again, in one piece.
 */

export interface StreamGuardOptions extends StreamIds {
  /** How many times a broken response is requested again. 0: never. */
  readonly maxFallbackAttempts: number;
  /** How long the model may be silent, in milliseconds. Undefined: for any time. */
  readonly idleTimeoutMs?: number | undefined;
  /** A `whole-text` is asked in one piece if it can be, and must not end at a token limit. @default "response" */
  readonly wants?: "response" | "whole-text";
  /**
   * Contract: gets the complete response before the client sees any of it, and resolves to the response that the
   * client gets instead. Undefined: a listening client gets the response as it arrives.
   */
  readonly settle?: ((response: AIMessage) => Promise<AIMessage>) | undefined;
  /** Contract: called for every broken response, before it is requested again. Must not throw. */
  readonly onBroken: (response: BrokenResponse) => void;
  /** Whether a response that the model or its provider withheld is an error, even if it has a text. @default false */
  readonly refusesWithheld?: boolean | undefined;
  /** Contract: called for a response that the model or its provider withheld. Must not throw. */
  readonly onWithheld?: ((response: WithheldResponse) => void) | undefined;
  /** Contract: called for every failed request that the client will send again, before it waits. Must not throw. */
  readonly onRetry?: ((failed: FailedAttempt) => void) | undefined;
}

interface BrokenResponse {
  readonly reason: BrokenReason;
  /** The token usage that the provider reported. */
  readonly usage: UsageMetadata | undefined;
  /** The finish reason, if there is one. */
  readonly finish?: string | undefined;
  readonly cause?: unknown;
}

export interface WithheldResponse extends Withheld, Pick<BrokenResponse, "usage"> {
  /** Whether its text so far is the response. If not, it is an error. */
  readonly isKept: boolean;
}

/** What the client says of a response in one piece beside the message. LangChain passes it on to tracers. */
interface Told {
  readonly generationInfo?: Readonly<Record<string, unknown>> | undefined;
  readonly llmOutput?: Readonly<Record<string, unknown>> | undefined;
}

interface WholeResponse extends Told {
  readonly message: AIMessage | AIMessageChunk;
  readonly finish: string | undefined;
}

interface GuardedResponse extends Told {
  readonly message: AIMessageChunk;
}

type Received = WholeResponse | BrokenResponse;

type CallOptions = BaseChatModel["ParsedCallOptions"];

type Run = CallbackManagerForLLMRun | undefined;

interface GuardedRequest {
  readonly model: BaseChatModel;
  /** The client of which the model is a view. */
  readonly original: BaseChatModel;
  readonly guard: StreamGuardOptions;
  readonly habit: FinishHabit;
  /** How the client alone would ask. */
  readonly manner: Manner;
  readonly messages: BaseMessage[];
  readonly options: CallOptions;
  readonly run: Run;
}

/**
 * A model's complete response. If somebody listens, its stream goes to the client as it arrives. No tool has run before
 * the response is complete, so a second request repeats no tool call.
 *
 * The guard does not handle the provider's refusals, unreachable hosts (both of which the model's client has retried),
 * and the run's abort.
 *
 * @throws ModelError if all attempts give broken responses.
 */
async function guardedResponse(request: GuardedRequest): Promise<GuardedResponse> {
  const { guard, options } = request;
  const heard = request.manner === "streamed" ? request.run : undefined;
  const client = new ClientStream(guard.settle === undefined ? heard : undefined, guard);
  let response: WholeResponse;
  let accepted: AIMessage | AIMessageChunk;
  try {
    response = await askUntilEnd(request, client);
    accepted = acceptWithheld(response, guard);
  } catch (error) {
    // After an abort, the user may want to read the partial response.
    if (options.signal?.aborted !== true) await client.takeBack();
    throw error;
  }
  const message = await shownForm(accepted, guard, client, heard);
  // What says nothing new of the message would undo what was made of it.
  return accepted === response.message && guard.settle === undefined ? { ...response, message } : { message };
}

/** Requests a response, and requests it again while it is broken. */
async function askForWhole(request: GuardedRequest, client: ClientStream): Promise<WholeResponse> {
  const { guard, options } = request;
  const { maxFallbackAttempts, onBroken, wants } = guard;
  let response = await askEitherWay(request, wants === "whole-text" ? "whole" : request.manner, client);
  for (let attempts = 0; "reason" in response; attempts += 1) {
    onBroken(response);
    if (attempts >= maxFallbackAttempts || LASTING_REASONS.has(response.reason))
      throw noWholeResponse(response, attempts);
    options.signal?.throwIfAborted();
    response = await askEitherWay(request, "whole", new ClientStream(undefined, guard));
  }
  return response;
}

/** Asks in this manner. If the client or its host cannot, asks in the other one, once. */
async function askEitherWay(
  request: GuardedRequest,
  wanted: Manner,
  client: ClientStream,
): Promise<Received> {
  const { model, original, guard, messages, options } = request;
  const canStream = mayStream(model);
  const manner = canStream ? (onlyManner(original) ?? wanted) : "whole";
  const isOfManner = (error: unknown): boolean =>
    canStream &&
    options.signal?.aborted !== true &&
    error !== client.failure &&
    !isPrivateAccess(error) &&
    mayBeOfManner(error, manner, messages);
  const askIn = (manner: Manner, shown: ClientStream, isFinal: (error: unknown) => boolean) =>
    tellRetries(model, { onRetry: guard.onRetry, isFinal }, () =>
      manner === "streamed" ? askStreaming(request, shown) : askWhole(request),
    );
  try {
    return await askIn(manner, client, isOfManner);
  } catch (error) {
    if (!isOfManner(error)) throw error;
    if (isProgramFault(error)) guard.onBroken({ reason: "unreadable", usage: undefined, cause: error });
    const other = otherThan(manner);
    const response = await askIn(other, new ClientStream(undefined, guard), () => false);
    if (!("reason" in response)) noteAnswered(original, other, error, messages);
    return response;
  }
}

/** Continues a turn that its provider has paused. Its pieces become one response, as the provider reads them later. */
async function askUntilEnd(request: GuardedRequest, client: ClientStream): Promise<WholeResponse> {
  let response = await askForWhole(request, client);
  let joined = response.message;
  for (let pauses = 0; pauses < MOST_PAUSES && finishKindOf(response.finish) === "paused"; pauses += 1) {
    request.options.signal?.throwIfAborted();
    const messages = [...request.messages, joined];
    response = await askForWhole({ ...request, messages }, new ClientStream(undefined, request.guard));
    joined = joinPieces(joined, response.message);
  }
  return joined === response.message ? response : { message: joined, finish: response.finish };
}

/** How many times a paused turn is sent again. */
const MOST_PAUSES = 6;

function joinPieces(first: AIMessage | AIMessageChunk, next: AIMessage | AIMessageChunk): AIMessage {
  return copyMessage<AIMessage>(next, {
    ...defined({ id: first.id, usage_metadata: usageIn([first, next]) }),
    // Chunks number the blocks of their piece.
    content: [...blocksOf(first), ...blocksOf(next)].map((block, index) =>
      "index" in block ? { ...block, index } : block,
    ),
    tool_calls: [...(first.tool_calls ?? []), ...(next.tool_calls ?? [])],
    invalid_tool_calls: [...(first.invalid_tool_calls ?? []), ...(next.invalid_tool_calls ?? [])],
  });
}

/** The usage of all these messages together. */
function usageIn(messages: readonly BaseMessage[]) {
  const [first, ...others] = messages
    .filter(isAIMessage)
    .filter((message) => message.usage_metadata !== undefined)
    .map(({ usage_metadata }) => new AIMessageChunk({ content: "", ...defined({ usage_metadata }) }));
  return others.reduce((sum, usage) => concat(sum, usage), first)?.usage_metadata;
}

function blocksOf({ content }: BaseMessage) {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text" as const, text: content }];
}

/**
 * A refusal is a response: the same request would be refused again. Its words are its text, and its calls are not run.
 *
 * @throws ModelError if nothing of it is left, or if another model is asked instead.
 */
function acceptWithheld(
  { message, finish }: WholeResponse,
  { onWithheld, refusesWithheld = false, wants }: StreamGuardOptions,
): AIMessage | AIMessageChunk {
  const withheld = withheldIn(message, finish);
  if (withheld === undefined) return message;
  // A cut-off call has its own form in the content.
  const said =
    callsOf(message).length === 0
      ? message
      : copyMessage(
          withoutCalls(message, () => true),
          { content: message.text },
        );
  const { refusal: _, ...additional_kwargs } = said.additional_kwargs;
  const isTextless = said.text.trim() === "" && withheld.text !== "";
  const spoken = isTextless ? copyMessage(said, { content: withheld.text, additional_kwargs }) : said;
  const isKept = !refusesWithheld && wants !== "whole-text" && !isBlankMessage(spoken);
  onWithheld?.({ ...withheld, usage: message.usage_metadata, isKept });
  if (isKept) return spoken;
  const { reason, category, text } = withheld;
  const why = [reason, category].flatMap((word) => (word === undefined ? [] : `\`${word}\``)).join(", ");
  throw new ModelError(`The model's response was withheld (${why})${text === "" ? "." : `: ${text}`}`);
}

/** The response as the client has it in the end. */
async function shownForm(
  message: AIMessage | AIMessageChunk,
  guard: StreamGuardOptions,
  client: ClientStream,
  heard: Run,
): Promise<AIMessageChunk> {
  const { settle } = guard;
  if (settle === undefined) return message === client.readable ? client.readable : client.replaceBy(message);
  const stored = coerceMessage(message);
  if (stored === undefined || !isAIMessage(stored))
    throw new ModelError("Expected the model's response to be an AI message.");
  return new ClientStream(heard, guard).replaceBy(await settle(stored));
}

async function askStreaming(request: GuardedRequest, client: ClientStream): Promise<Received> {
  const { model, guard, habit, messages, options } = request;
  const patience = new Patience(guard.idleTimeoutMs, options.signal);
  let stream: AsyncIterator<ChatGenerationChunk> | undefined;
  const read = async (): Promise<Received> => {
    stream = model._streamResponseChunks(messages, { ...options, signal: patience.signal });
    for (;;) {
      const { done, value } = await stream.next();
      // An aborted client ends its stream without an error.
      patience.signal.throwIfAborted();
      if (done) break;
      patience.rest();
      const telling = client.forward(value);
      try {
        await telling;
      } catch (error) {
        client.failure = error;
        throw error;
      }
      patience.begin();
    }
    const { chunks, message } = client.sent;
    if (message !== undefined) unlistRunCalls(message, options);
    const response = judge(message, request, { chunks, omitsFinishReason: habit.omits });
    // Joined chunks can read "nullnullstop".
    if ("message" in response && message?.response_metadata["finish_reason"] !== undefined)
      message.response_metadata = { ...message.response_metadata, finish_reason: response.finish };
    return response;
  };
  try {
    return await patience.waitFor(read());
  } catch (error) {
    // A stream that still waits for its client ends with it, so nobody waits for this.
    stream?.return?.().catch(() => {});
    const { chunks } = client.sent;
    const usage = usageIn(chunks.map(({ message }) => message));
    if (patience.isOver) return { reason: "silent", usage, cause: error };
    const words = wordsOf(error, messages);
    if (isFailedSample(error, words)) return { reason: "sampling-failed", usage, cause: error };
    // OpenAI's Responses API refuses a request that is too long after its stream has begun with status 200.
    const isRefused = isRefusal(error) || readOverflow(error, words) !== undefined;
    const isOfClient = error !== client.failure && !isProgramFault(error);
    const isBroken = isOfClient && (chunks.length > 0 || isLost(error));
    if (options.signal?.aborted || isAbortError(error) || isRefused || !isBroken) throw error;
    return { reason: "transport-error", usage, cause: error };
  } finally {
    patience.end();
  }
}

async function askWhole(request: GuardedRequest): Promise<Received> {
  const { model, guard, habit, manner, messages, options, run } = request;
  const patience = new Patience(guard.idleTimeoutMs, options.signal);
  const tokens = new TokenWatch(manner === "whole" ? run : undefined);
  try {
    const own = { ...options, signal: patience.signal };
    const generating = unstreamed(model)._generate(messages, own, tokens.run);
    const { generations, llmOutput } = await patience.waitFor(generating);
    const [{ message, generationInfo } = {}] = generations;
    options.signal?.throwIfAborted();
    if (message === undefined || !AIMessage.isInstance(message)) return judge(undefined, request);
    message.response_metadata = { ...llmOutput, ...generationInfo, ...message.response_metadata };
    unlistRunCalls(message, options);
    const response = judge(message, request, tokens.streamed(message, habit));
    return "reason" in response ? response : { ...response, generationInfo, llmOutput };
  } catch (error) {
    if (patience.isOver) return { reason: "silent", usage: undefined, cause: error };
    if (isEmptyResponse(error)) return judge(undefined, request);
    if (isFailedSample(error, wordsOf(error, messages)))
      return { reason: "sampling-failed", usage: undefined, cause: error };
    const isBroken = isLost(error) && !isRefusal(error);
    if (options.signal?.aborted || isAbortError(error) || !isBroken) throw error;
    return { reason: "transport-error", usage: undefined, cause: error };
  } finally {
    patience.end();
  }
}

/** The run as a client gets it that was asked in one piece. Some clients stream then too, and tell it each token. */
class TokenWatch {
  readonly run: CallbackManagerForLLMRun;
  #isStreamed = false;

  /** @param told The run that gets the tokens, if any. */
  constructor(told: Run) {
    const handleLLMNewToken: CallbackManagerForLLMRun["handleLLMNewToken"] = async (...token) => {
      const { chunk } = token[5] ?? {};
      this.#isStreamed ||= chunk !== undefined;
      await told?.handleLLMNewToken(...token);
    };
    this.run = viewOf(told ?? new CallbackManagerForLLMRun("", [], [], [], [], {}, {}), {
      handleLLMNewToken,
    });
  }

  /** The response as a stream, if it was one. Its end is in the message. */
  streamed(message: AIMessage, { omits }: FinishHabit): StreamedResponse | undefined {
    if (!this.#isStreamed) return undefined;
    const chunk = new ChatGenerationChunk({ text: "", message: message as AIMessageChunk });
    return { chunks: [chunk], omitsFinishReason: omits };
  }
}

/** What the provider has run is not run again. Clients saw the call, and the state then has the message without it. */
function unlistRunCalls(message: AIMessage | AIMessageChunk, options: CallOptions): void {
  const tools: unknown = Reflect.get(options, "tools");
  for (const provider of PROVIDERS) provider.unlistRunCalls?.(message, tools);
}

/** @param streamed The stream, if the response was streamed. */
function judge(
  message: AIMessage | AIMessageChunk | undefined,
  { habit, guard: { wants } }: GuardedRequest,
  streamed?: StreamedResponse,
): Received {
  if (message === undefined) return { reason: "empty", usage: undefined };
  const finish = finishReasonOf(message, streamed);
  const reason = (wants === "whole-text" ? faultOfText(message) : undefined) ?? faultOf(message, streamed);
  if (finish !== undefined || reason === undefined) habit.note(finish, streamed === undefined);
  if (reason !== undefined) return { reason, usage: message.usage_metadata, finish };
  return { message, finish };
}

const ADVICE: Partial<Record<BrokenReason, string>> = {
  "cut-off-calls": " Raise the model's token limit, or ask for less at once.",
  "spent-limit": " Raise the model's token limit.",
  pending: " Turn the model's background mode off.",
};

function noWholeResponse({ reason, finish, cause }: BrokenResponse, attempts: number): ModelError {
  const again =
    attempts === 0
      ? "It was not requested again."
      : `It was requested again ${attempts} ${attempts === 1 ? "time" : "times"}.`;
  const status = reason === "pending" ? ` (\`${finish}\`)` : "";
  const advice = ADVICE[reason] ?? "";
  return new ModelError(
    `The model's response ${BROKEN_REASONS[reason]}${status}. ${again}${advice} No tool was run, and the history is unchanged.`,
    ...(cause === undefined ? [] : [{ cause }]),
  );
}

/*
 * Calls a model without streaming, overriding its settings.
 */

/** Whether a model can stream and streaming is not off. It is off with `streaming: false` or `disableStreaming`. */
function mayStream(model: BaseChatModel): boolean {
  if (model._streamResponseChunks === baseOf(model)?._streamResponseChunks) return false;
  if (model.disableStreaming) return false;
  // In many clients the field `streaming` is false by default although they stream. `lc_kwargs` has the user's choice.
  return model.lc_kwargs?.["streaming"] !== false;
}

/**
 * The prototype of LangChain's `BaseChatModel` in the model's own chain, because the model can come from another copy
 * of LangChain. Its `_streamResponseChunks` only throws. It is the one class that declares `_generateUncached`.
 */
const baseOf = (model: BaseChatModel): BaseChatModel | undefined => prototypeWith(model, "_generateUncached");

/**
 * A view of the model that does not stream. With `streaming: true`, the common clients' `_generate` also streams, and
 * OpenAI's client downloads a tokenizer to count tokens. A client can contain other clients with the same field.
 */
function unstreamed(model: BaseChatModel): BaseChatModel {
  if (Reflect.get(model, "streaming") !== true) return model;
  const parts = partsOf(model).map(([field, part]) => [field, unstreamed(part)] as const);
  return viewOf(model, { streaming: false, ...Object.fromEntries(parts) });
}

/**
 * The methods that a chat model calls on `this` until it asks. They are not bound to the model, so that they find the
 * view's own members. The last one is internal to LangChain.
 */
export const INVOKING_METHODS: ReadonlySet<unknown> = new Set([
  "invoke",
  "generatePrompt",
  "generate",
  "_generateUncached",
]);
