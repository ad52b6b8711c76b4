/** What a maker says of its clients, hosts and models. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { AIMessage, AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import type { AsyncCallerParams } from "@langchain/core/utils/async_caller";
import { importOptional } from "../../shared/import-optional.js";
import type { Asked } from "./author.js";
import type { Counted, Fields } from "./dialect.js";
import type { DialectName } from "./dialect-name.js";
import type { HostFields } from "./host-fields.js";
import type { OpenAIApi } from "./openai-api.js";
import type { WantedFormat } from "./response-format.js";

/**
 * What is known about a provider and its LangChain clients, besides its dialects. The client's package is loaded when a
 * model is made.
 */
export interface Provider {
  /** How `createModel` makes its models, by the first part of their names. */
  readonly models?: Readonly<Record<string, ModelSource>>;
  /** The first letters of its models' names, and the entry of `models` that was probably meant. */
  readonly modelNames?: readonly [beginning: RegExp, source: string];
  /** In lower case. Unlisted reasons count as `done`, or as `withheld` if the response has nothing else. */
  readonly finishReasons?: Readonly<Partial<Record<FinishKind, readonly string[]>>>;
  /** Where its clients write the finish reason. */
  readonly finishFields?: readonly string[];
  /** The finish reason in one of its records that has it in no field of its own. Undefined: there is none. */
  readonly finishIn?: (record: Fields) => string | undefined;
  /** What the response says about being refused, where its finish reason does not. Undefined: it is no refusal. */
  readonly refusalIn?: (message: AIMessage | AIMessageChunk) => Refusal | undefined;
  /** How a call begins in the model's own markup, which leaks into the text if its host fails to parse it. */
  readonly callMarkup?: readonly RegExp[];
  /**
   * Its words for a request that is too long, as patterns. `<limit>`: the window. `<input>`: the tokens of the messages.
   * `<total>`: these and the reserved output. `<output>`: the reserved output, which takes its room from the input.
   */
  readonly overflow?: readonly string[];
  /** Its words for a request with too many bytes, as patterns. */
  readonly tooManyBytes?: readonly string[];
  /** Its words for a picture or file that it does not accept, as patterns. */
  readonly refusedMedia?: readonly string[];
  /** Its words for too many of something, as patterns. `<most>`: how many it accepts. */
  readonly tooMany?: Readonly<Partial<Record<Counted, readonly string[]>>>;
  /**
   * Its words, as patterns, for a bad request whose fault is not in its messages, where their form does not tell it; see
   * `part-at-fault.ts`. Such a request is not made again.
   */
  readonly otherRefusals?: readonly string[];
  /** Its words, as patterns, for a model that it serves only with the named API. */
  readonly otherApi?: Readonly<Partial<Record<OpenAIApi, readonly string[]>>>;
  /** Patterns of its keys, each from a word boundary on. */
  readonly secrets?: readonly string[];
  /** Its text for how long to wait. The first group has the seconds. */
  readonly retryIn?: RegExp;
  /** The whole message of its client for a stream that was cut, as a pattern. */
  readonly cutStream?: string;
  /** How each of its dialects requests a response in a JSON schema. Others use OpenAI's form. */
  readonly formats?: Readonly<Partial<Record<DialectName, Format>>>;
  /** What a request with one of its clients can force. Others can force any call. Thinking models refuse both. */
  readonly forcedCall?: Readonly<Partial<Record<DialectName, (client: object) => ForcedCall>>>;
  /** The tools that it runs itself. */
  readonly tools?: {
    readonly maker: string;
    readonly dialects: readonly DialectName[];
    readonly isOwn: (tool: ProviderTool) => boolean;
    /** Its dialects whose clients send such tools in another one: which, and the settings that say so. */
    readonly sentAs?: Readonly<
      Partial<Record<DialectName, { readonly dialect: DialectName; readonly settings: object }>>
    >;
  };
  /** For a dialect whose prompt cache keeps only what is marked. */
  readonly promptCache?: Readonly<Partial<Record<DialectName, PromptCacheMarks>>>;
  /** The dialects of its hosts whose cached messages count for only one tool choice. */
  readonly cachesToolChoice?: readonly DialectName[];
  /** What its hosts with OpenAI's protocol do with fields that the protocol does not have. */
  readonly hostFields?: readonly HostFields[];
  /** Its clients with OpenAI's protocol that serve only its host, or treat such fields in their own way, by `_llmType`. */
  readonly clientFields?: Readonly<Record<string, ClientFields>>;
  /** Its dialects whose hosts can serve a thinking model of another maker, and the names of models that always think. */
  readonly thinking?: { readonly dialects: readonly DialectName[]; readonly models: RegExp };
  /** Contract: returns a corrected view of one of its clients, and any other model unchanged. */
  readonly correctClient?: (model: BaseChatModel, identity: ModelIdentity) => BaseChatModel;
  /** Contract: returns a stream's whole message as it can be stored, unchanged if nothing is wrong. */
  readonly correctResponse?: (message: AIMessageChunk) => AIMessageChunk;
  /**
   * Contract: corrects the client's lists of calls, in the message itself: without those that the provider has run, and
   * with the arguments that the client has not read. `tools`: those of the request, as its client got them.
   */
  readonly correctCalls?: (message: AIMessage, tools: unknown) => void;
  /** Whether its client threw because the response has no content, and another request may have some. */
  readonly isEmptyResponse?: (error: object) => boolean;
}

interface Refusal {
  /** The model's words. Empty if it has none. */
  readonly text: string;
  /** What it is about, such as `cyber`. */
  readonly category?: string | undefined;
}

/** What is special about a client with OpenAI's protocol. */
export interface ClientFields {
  /** Its host's name for the field that it stores as `reasoning_content`. */
  readonly reasoningName?: string;
  /** Whether it sends its parameters with the messages itself, and has no `completionWithRetry`. */
  readonly sendsParameters?: true;
}

/** Any call, only that of a named tool, or none. */
export type ForcedCall = "any" | "named" | "nothing";

interface Format {
  /** Call options of the client. */
  readonly options: (wanted: WantedFormat) => Readonly<Record<string, unknown>>;
  /** Whether the provider makes the responses match the schema. Undefined: never. */
  readonly isKept?: (wanted: WantedFormat, hasTools: boolean) => boolean;
}

/** What a response's finish reason says. */
export type FinishKind =
  /** The model finished its response. */
  | "done"
  /** The model stopped so that its tool calls can run. */
  | "calls"
  /** The response was cut off at a token limit. */
  | "limit"
  /** The model refused, or its provider withheld the rest. */
  | "withheld"
  /** The provider paused the turn. The same request with the response so far continues it. */
  | "paused"
  /** The provider stopped in the middle of the response. */
  | "interrupted"
  /** The provider has not finished the response, and writes it in the background. */
  | "pending";

/**
 * The definition of a tool that the provider runs, in the provider's own form: `{ type: "web_search_preview" }` for
 * OpenAI, `{ type: "web_search_20250305", name: "web_search" }` for Anthropic, `{ googleSearch: {} }` for Google.
 */
export type ProviderTool = { readonly [field: string]: unknown };

/** The marks of one model's requests. Each leaves its argument as it is, and returns a marked copy. */
export interface PromptCacheMarks {
  /** Whether somebody else has marked a message or a tool. A request takes only a few marks. */
  readonly isMarked: (part: object) => boolean;
  readonly tools: (tools: readonly BindToolsInput[]) => readonly BindToolsInput[];
  readonly messages: (messages: BaseMessage[]) => BaseMessage[];
  /** The client puts this mark after the last message when it makes the request. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** For whom a request is made. */
export interface ModelIdentity extends Asked {
  readonly dialect: DialectName;
}

/** How one name's models are made. */
export interface ModelSource {
  /** The command that installs the client. Undefined for a built-in client. */
  readonly install?: string;
  /** Variables that may hold the key, the usual one first. Undefined if none is needed, or if the client finds its own. */
  readonly keys?: readonly string[];
  /** The variable that replaces the provider's own address. */
  readonly baseURL?: string;
  /** The dialect of the model. Undefined to derive it from the client and the host. */
  readonly dialect?: DialectName;
  /** The dialect to expect before the model is made, if {@link dialect} is derived. */
  readonly usualDialect?: DialectName;
  /** Whether its models send their host's fields back even without an agent. @default false */
  readonly carriesHostFields?: true;
  /** Contract: makes a model, or rejects with the error of the provider's package. */
  readonly create: (fields: ModelFields) => Promise<BaseChatModel>;
}

/** A client's fields, and which failed requests it sends again. */
export interface ModelFields extends Pick<AsyncCallerParams, "maxRetries" | "onFailedAttempt"> {
  readonly model: string;
  /** The first of the provider's keys that is set. `""` for a provider that needs no key. */
  readonly apiKey: string;
  readonly baseURL: string | undefined;
}

interface LangChainSource extends Pick<ModelSource, "keys" | "baseURL" | "dialect"> {
  readonly package: string;
  /** The base URL's name in the fields of the provider's class. */
  readonly baseURLField?: string;
}

/** Models that LangChain's own `initChatModel` makes. */
export function byLangChain(
  name: string,
  { package: client, baseURLField, ...source }: LangChainSource,
): ModelSource {
  return {
    dialect: "as-stored",
    ...source,
    install: `npm install langchain ${client}`,
    create: async ({ model, apiKey, baseURL, ...retries }) => {
      const { initChatModel } = await importOptional<typeof import("langchain/chat_models/universal")>(
        "langchain/chat_models/universal",
      );
      return initChatModel(model, {
        ...retries,
        modelProvider: name,
        ...(apiKey !== "" && { apiKey }),
        ...(baseURL !== undefined && baseURLField !== undefined && { [baseURLField]: baseURL }),
      });
    },
  };
}
