/** The view of a client with OpenAI's protocol that carries its host's fields in and out. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { isAIMessage } from "../../history/call.js";
import { ownFields } from "../../history/change-calls.js";
import { copyMessage } from "../../history/message.js";
import { isRecord, recordsIn, textIn } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";
import type { Fields } from "../contract/dialect.js";
import { type HostFields, isGiven, REASONING_FIELD, RENAMED_REASONING } from "../contract/host-fields.js";
import { isChatModel, rulingHostOf } from "../contract/model-view.js";
import type { ModelIdentity } from "../contract/provider.js";
import { OPENAI_CLIENTS } from "../table/dialect-of.js";
import { dialectNamed } from "../table/dialects.js";
import { PROVIDERS } from "../table/providers.js";
import { GIVEN_FIELDS, isAdded, markOf, namesIn, without } from "./fields.js";

/** The views' streaming methods. A view of such a view inherits them. */
const CARRYING = new WeakSet<object>();

/**
 * A view of the client that carries what its host adds to responses in and out. Returns any other model unchanged.
 *
 * What the client loses of a response is added to the stored message, after the stream if there is one. The model
 * input's fields are added to the request. LangChain's clients send none of them back, up to `@langchain/openai` 1.5.8
 * and `@langchain/deepseek` 1.1.13 at least: https://github.com/langchain-ai/langchainjs/issues/10883
 */
export function carryHostFields(model: BaseChatModel, identity: ModelIdentity): BaseChatModel {
  // `ChatOpenAI` delegates to one of two models. The other is for the Responses API.
  const completions: unknown = Reflect.get(model, "completions");
  if (isChatModel(completions)) return viewOf(model, { completions: carryHostFields(completions, identity) });
  if (!isClient(model) || CARRYING.has(model._streamResponseChunks)) return model;

  type Ask = Parameters<BaseChatModel["_streamResponseChunks"]>;
  const exchangeOf = (client: BaseChatModel, messages: readonly BaseMessage[]) =>
    watch(client, (sent) => withFields(sent, messages, rulesFor(client, identity)));
  const members = {
    async *_streamResponseChunks(this: BaseChatModel, ...[messages, ...rest]: Ask) {
      const { client, given } = exchangeOf(this, messages);
      for await (const chunk of model._streamResponseChunks.call(client, messages, ...rest))
        yield given.withoutLists(chunk);
      const added = given.lostAndNoted();
      if (Object.keys(added).length === 0) return;
      const message = new AIMessageChunk({ content: "", additional_kwargs: added });
      ADDED.add(message);
      yield new ChatGenerationChunk({ text: "", message });
    },
    async _generate(this: BaseChatModel, ...[messages, ...rest]: Parameters<BaseChatModel["_generate"]>) {
      const { client, given } = exchangeOf(this, messages);
      return given.withLost(await model._generate.call(client, messages, ...rest));
    },
    _streamChatModelEvents(
      this: BaseChatModel,
      ...[messages, ...rest]: Parameters<BaseChatModel["_streamChatModelEvents"]>
    ) {
      const { client } = exchangeOf(this, messages);
      return model._streamChatModelEvents.call(client, messages, ...rest);
    },
  };
  CARRYING.add(members._streamResponseChunks);
  return viewOf(model, members);
}

/** The chunks that this library puts at the end of a stream. */
const ADDED = new WeakSet<object>();

/** Whether a chunk only repeats what the client left out of those before it, so it is no piece of the response. */
export function isAddedChunk(message: object): boolean {
  return ADDED.has(message);
}

/** Another program's model can have a client's name. It is unknown how it sends its requests. */
function isClient(model: BaseChatModel): boolean {
  const kind = model._llmType();
  const sends = typeof Reflect.get(model, "completionWithRetry") === "function";
  return (
    (OPENAI_CLIENTS.has(kind) || CLIENTS.has(kind)) && (sends || CLIENTS.get(kind)?.sendsParameters === true)
  );
}

type Messages = readonly Fields[];
/** Contract: returns a request's messages with their fields. It can be called for each attempt. */
type Send = (messages: Messages) => Messages;

/** A view of the client for one request, and what its response contains. */
function watch(model: BaseChatModel, send: Send): { readonly client: BaseChatModel; readonly given: Given } {
  const given = new Given();
  const complete: unknown = Reflect.get(model, "completionWithRetry");
  if (typeof complete === "function") {
    const completionWithRetry = async (request: Body, ...rest: readonly unknown[]) => {
      const sent = { ...request, messages: send(request.messages) };
      return noted(await Reflect.apply(complete, model, [sent, ...rest]), given);
    };
    return { client: viewOf(model, { completionWithRetry }), given };
  }
  // `ChatOpenRouter` makes its request's body from these parameters and the messages, and sends it itself.
  const parametersOf: unknown = Reflect.get(model, "invocationParams");
  if (typeof parametersOf !== "function") return { client: model, given };
  const invocationParams = (...options: readonly unknown[]) => ({
    ...Reflect.apply(parametersOf, model, options),
    toJSON(this: Body) {
      const { toJSON: _, ...body } = this;
      return { ...body, messages: send(body.messages) };
    },
  });
  return { client: viewOf(model, { invocationParams }), given };
}

interface Body extends Fields {
  readonly messages: Messages;
}

/** The same response. Its host's fields are noted as they arrive. */
function noted(response: unknown, given: Given): unknown {
  given.isWatched = true;
  if (isIterable(response)) return notedStream(response, given);
  given.add(Object(firstChoice(response))["message"]);
  return response;
}

async function* notedStream(stream: AsyncIterable<unknown>, given: Given): AsyncGenerator<unknown> {
  for await (const chunk of stream) {
    given.add(Object(firstChoice(chunk))["delta"]);
    yield chunk;
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof Object(value)[Symbol.asyncIterator] === "function";
}

function firstChoice(response: unknown): unknown {
  return recordsIn(Object(response)["choices"]).find(({ index = 0 }) => index === 0);
}

/** As often as this, no model writes the same piece of a text and no other. */
const LEAST_REPEATS = 3;

/** A response's fields, and which of them its client kept. */
class Given {
  /** Whether the responses of the client are seen, and not only what it makes of them. */
  isWatched = false;
  // A host can name a field like one of every object.
  readonly #fields: Record<string, unknown> = Object.create(null);
  readonly #kept = new Set<string>();
  /** How many pieces each field has that are all the same. */
  readonly #repeats = new Map<string, number>();
  readonly #callFields = new Set<string>();

  add(message: unknown): void {
    if (!isRecord(message)) return;
    for (const [name, value] of Object.entries(message))
      if (isAdded(name) && isGiven(value)) this.#addField(name, value);
    for (const call of recordsIn(message["tool_calls"]))
      for (const name of Object.keys(ownFields(call))) this.#callFields.add(name);
  }

  /** A text that is the same in three pieces or more says it each time anew. */
  #addField(name: string, value: unknown): void {
    const before = this.#fields[name];
    const count = this.#repeats.get(name) ?? 0;
    const isSame = typeof value === "string" && before === value.repeat(count);
    this.#repeats.set(name, before === undefined || (isSame && count > 0) ? count + 1 : 0);
    this.#fields[name] = joined(before, value);
  }

  #whole(name: string, value: unknown): unknown {
    const count = this.#repeats.get(name) ?? 0;
    return typeof value === "string" && count >= LEAST_REPEATS ? value.slice(0, value.length / count) : value;
  }

  /** LangChain joins all texts in a list's items, and so repeats their format. They are joined here. */
  withoutLists(chunk: ChatGenerationChunk): ChatGenerationChunk {
    const { message, text, generationInfo } = chunk;
    const kept = Object.entries(message.additional_kwargs).filter(
      ([name, value]) => isGiven(value) && this.#isHosts(name),
    );
    for (const [name] of kept) this.#kept.add(name);
    const lists = Object.fromEntries(kept.filter(([, value]) => typeof value !== "string"));
    const names = Object.keys(lists);
    if (names.length === 0) return chunk;
    for (const name of names) this.#kept.delete(name);
    if (!this.isWatched) this.add(lists);
    const additional_kwargs = without(message.additional_kwargs, names);
    return new ChatGenerationChunk({
      text,
      message: copyMessage(message, { additional_kwargs }),
      ...(generationInfo && { generationInfo }),
    });
  }

  #isHosts(name: string): boolean {
    return this.isWatched ? name in this.#fields : GIVEN_FIELDS.includes(name);
  }

  /** What the client lost, and the mark that names all that the host gave. */
  lostAndNoted(): Fields {
    const fields = [...new Set([...Object.keys(this.#fields), ...this.#kept])];
    const lost = Object.entries(without(this.#fields, [...this.#kept]));
    return {
      ...Object.fromEntries(lost.map(([name, value]) => [name, this.#whole(name, value)])),
      ...markOf({ fields, callFields: [...this.#callFields] }),
    };
  }

  withLost(result: ChatResult): ChatResult {
    const [first, ...others] = result.generations;
    if (first === undefined) return result;
    const { message } = first;
    for (const [name, value] of Object.entries(message.additional_kwargs))
      if (isGiven(value) && this.#isHosts(name)) this.#kept.add(name);
    const added = this.lostAndNoted();
    if (Object.keys(added).length === 0) return result;
    const additional_kwargs = { ...message.additional_kwargs, ...added };
    const whole = copyMessage(message, { additional_kwargs });
    return { ...result, generations: [{ ...first, message: whole }, ...others] };
  }
}

function joined(before: unknown, value: unknown): unknown {
  if (typeof before === "string" && typeof value === "string") return before + value;
  if (Array.isArray(before) && Array.isArray(value)) return value.reduce(withItem, before);
  if (isRecord(before) && isRecord(value)) return joinedFields(before, value);
  return Array.isArray(value) ? value.reduce(withItem, []) : value;
}

/** Texts that say what their record is. They come whole with each piece. */
const NAMING: ReadonlySet<string> = new Set(["type", "id", "format", "name", "role"]);

function joinedFields(before: Fields, value: Fields): Fields {
  const added = Object.entries(value).map(([name, field]) => [
    name,
    NAMING.has(name) || field === before[name] ? field : joined(before[name], field),
  ]);
  return { ...before, ...Object.fromEntries(added) };
}

/** An item's texts that can arrive in pieces. */
const TEXTS = ["text", "summary", "thinking"];

/** An item's piece goes to the last item with its index and type. Encrypted items are whole. */
function withItem(items: readonly unknown[], piece: unknown): readonly unknown[] {
  const last = items.at(-1);
  if (!isRecord(last) || !isRecord(piece) || !isContinued(last, piece)) return [...items, piece];
  const given = Object.entries(piece).filter(([, value]) => value !== null && value !== undefined);
  const changes = given.map(([name, value]) => {
    const before = last[name];
    const isText = TEXTS.includes(name) && typeof before === "string" && typeof value === "string";
    return [name, isText ? before + value : value];
  });
  return [...items.slice(0, -1), { ...last, ...Object.fromEntries(changes) }];
}

function isContinued(last: Fields, piece: Fields): boolean {
  if (last["type"] !== piece["type"] || last["index"] !== piece["index"]) return false;
  if ("data" in piece || ("id" in last && "id" in piece && last["id"] !== piece["id"])) return false;
  // A thought ends with its signature. A signature alone ends the thought before it.
  return !isGiven(last["signature"]) || TEXTS.every((name) => !isGiven(piece[name]));
}

/*
 * The way out.
 */

const HOSTS = PROVIDERS.flatMap(({ hostFields = [] }) => hostFields);
const CLIENTS = new Map(PROVIDERS.flatMap(({ clientFields = {} }) => Object.entries(clientFields)));
const THINKING = PROVIDERS.flatMap(({ thinking }) => thinking ?? []);

/** What one client sends to its host. */
interface WireRules {
  readonly takes: (field: string) => boolean;
  /** Whether each response in this input gets {@link REASONING_FIELD}, which can be empty. */
  readonly isDemanded: (messages: readonly AIMessage[]) => boolean;
  /** The host's name for {@link REASONING_FIELD}. */
  readonly reasoningName: string;
  /** Signs a response's calls if nobody has. */
  readonly signed: (message: Fields) => Fields;
}

/**
 * An unknown host only says that it has OpenAI's protocol. Some such hosts serve DeepSeek's thinking mode and demand the
 * field (https://github.com/NousResearch/hermes-agent/issues/15213). So one of them gets it for each response if its
 * model is known to think, or wrote such reasoning in this thread.
 */
function rulesFor(client: BaseChatModel, { dialect, modelId = "" }: ModelIdentity): WireRules {
  const kind = client._llmType();
  const host = rulingHostOf(client, kind);
  // Several makers can know something of a host that serves them all.
  const known = HOSTS.filter((each) => each.host.test(host));
  const { accepts, signed }: Partial<HostFields> = Object.assign({}, ...known);
  const isUnknown = kind === "openai" && accepts === undefined;
  const thinking = THINKING.filter(({ dialects }) => isUnknown && dialects.includes(dialect));
  return {
    takes: (field) => accepts?.includes(field) ?? true,
    isDemanded: (messages) =>
      dialectNamed(dialect).rules["missing-reasoning"] !== undefined ||
      thinking.some(
        ({ models }) =>
          models.test(modelId) ||
          messages.some(({ additional_kwargs }) => !!textIn(additional_kwargs, REASONING_FIELD)),
      ),
    reasoningName: CLIENTS.get(kind)?.reasoningName ?? REASONING_FIELD,
    signed: (message) => signed?.(message, modelId) ?? message,
  };
}

/** A request's messages with the fields of the messages that they are made from. */
function withFields(sent: Messages, messages: readonly BaseMessage[], rules: WireRules): Messages {
  const own = messages.filter(isAIMessage);
  const isDemanded = rules.isDemanded(own);
  const isResponse = ({ role, content, audio }: Fields) =>
    role === "assistant" && (content !== undefined || audio === undefined);
  // A message has a role that the user named.
  if (sent.filter(isResponse).length !== own.length) return sent;
  const left = own.values();
  return sent.map((message) => {
    if (!isResponse(message)) return message;
    const source = left.next().value;
    return source === undefined ? message : rules.signed(withOwnFields(message, source, isDemanded, rules));
  });
}

function withOwnFields(
  message: Fields,
  source: AIMessage,
  isDemanded: boolean,
  { takes, reasoningName }: WireRules,
): Fields {
  const { additional_kwargs, tool_calls = [] } = source;
  const names = namesIn(source);
  const given = names.fields
    .filter((name) => isGiven(additional_kwargs[name]))
    .map((name) => [name === REASONING_FIELD ? reasoningName : name, additional_kwargs[name]] as const);
  const fields = Object.fromEntries(given.filter(([name]) => takes(name)));
  const isEmpty = isDemanded && !(REASONING_FIELD in fields) && !(RENAMED_REASONING in fields);
  const calls = recordsIn(message["tool_calls"]).map((call, index) => {
    const entry: Fields = { ...tool_calls[index] };
    const own = names.callFields.filter((name) => entry[name] !== undefined && takes(name));
    return own.length === 0
      ? call
      : { ...call, ...Object.fromEntries(own.map((name) => [name, entry[name]])) };
  });
  return {
    ...message,
    ...(isEmpty && { [REASONING_FIELD]: "" }),
    ...fields,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}
