import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { getEnvironmentVariable } from "@langchain/core/utils/env";
import { InvalidModelError, InvalidSettingError } from "../../errors.js";
import { importOptional } from "../../shared/import-optional.js";
import { nearestOf } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import { createTongyiModel } from "../dashscope/client.js";
import { createDeepSeekModel } from "../deepseek/client.js";
import { rememberDialect } from "../dialect-of.js";
import type { DialectName } from "../dialects.js";
import { RETRY_FIELDS, toPlainError } from "../failure/model-failure.js";
import { createRedact } from "../failure/redact.js";
import { createMistralModel } from "../mistral/client.js";
import type { ModelFields } from "./model-view.js";

interface ModelName {
  readonly provider: string;
  readonly model: string;
}

/** The options of `createModel`. */
export interface CreateModelOptions {
  /** The variables with keys and base URLs. An empty value counts as not set. @default the process's environment */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** @throws InvalidModelError if the name is not `provider:model` with a known provider. */
export function parseModelName(name: string): ModelName {
  const [provider = "", ...rest] = name.split(":");
  const model = rest.join(":");
  const isKnown = Object.hasOwn(MODEL_PROVIDERS, provider);
  if (isKnown && rest.length > 0 && (model !== "" || provider === "offline")) return { provider, model };
  const meant = nearestModelName(name, Object.keys(MODEL_PROVIDERS));
  const known = `with one of the providers ${Object.keys(MODEL_PROVIDERS).join(", ")}`;
  const [expected, question] =
    meant === undefined
      ? [`as \`provider:model\` ${known}`, ""]
      : ["as `provider:model`", ` Did you mean \`${meant}\`?`];
  throw new InvalidModelError(name, `Expected a model ${expected}, got \`${name}\`.${question}`);
}

/** @throws InvalidModelError for a malformed name, an unknown provider or a missing key. */
export function checkModelKey(name: string, { environment }: CreateModelOptions = {}): void {
  readKey(name, providerOf(name), readerOf(environment));
}

function providerOf(name: string): ModelProvider {
  const { provider } = parseModelName(name);
  const entry = MODEL_PROVIDERS[provider];
  if (entry === undefined) throw new InvalidModelError(name, `There is no provider \`${provider}\`.`);
  return entry;
}

type Read = (variable: string) => string | undefined;

function readerOf(environment: CreateModelOptions["environment"]): Read {
  return (variable) =>
    (environment === undefined ? getEnvironmentVariable(variable) : environment[variable])?.trim() ||
    undefined;
}

/**
 * Makes a chat model by name: `openai:gpt-4o-mini`, or `offline:` for the embedded model that needs no key
 * and no network. Keys and base URLs come from the environment, under the usual names. The client repeats a
 * failed request up to four times, with growing pauses, if that can help: after a lost connection, a 5xx, or
 * a 429 that is not an exhausted quota.
 *
 * @param name `provider:model`.
 * @throws InvalidModelError for a malformed name, an unknown provider, a missing package or a missing key.
 * @example
 * ```ts
 * import { createModel } from "langgraph-tether";
 *
 * const model = await createModel("offline:");
 * const response = await model.invoke("Hello!");
 * console.log(response.text.split(":")[0]); // I am the offline model
 * ```
 */
export async function createModel(name: string, options: CreateModelOptions = {}): Promise<BaseChatModel> {
  const { model } = parseModelName(name);
  const entry = providerOf(name);
  const read = readerOf(options.environment);
  const apiKey = readKey(name, entry, read);
  const baseURL = entry.baseURL === undefined ? undefined : read(entry.baseURL);
  if (baseURL !== undefined && !URL.canParse(baseURL)) {
    throw new InvalidModelError(
      name,
      `Expected \`${entry.baseURL}\` to be a URL, for the model \`${name}\`.`,
    );
  }
  try {
    const made = await entry.create({ model, apiKey, baseURL, ...RETRY_FIELDS });
    return entry.dialect === undefined ? made : rememberDialect(made, entry.dialect);
  } catch (error) {
    const cause = toPlainError(error, createRedact({ apiKey }));
    const advice = adviceFor(cause, entry);
    throw new InvalidModelError(name, `The model \`${name}\` could not be made: ${advice}`, { cause });
  }
}

function readKey(name: string, { keys, install }: ModelProvider, read: Read): string {
  for (const variable of keys) {
    const key = read(variable);
    if (key !== undefined) return key;
  }
  const [usual] = keys;
  if (usual === undefined) return "";
  // Whether the package is there is not known before the model is made, and then the graph is in use.
  throw new InvalidModelError(
    name,
    `The model \`${name}\` needs a key: set \`${usual}\` in the environment. It also needs its package: ${install}`,
  );
}

function adviceFor(error: Error, entry: ModelProvider): string {
  const isMissing =
    ("code" in error && error.code === "ERR_MODULE_NOT_FOUND") ||
    /^Unable to import|Cannot find (package|module)/.test(error.message);
  return isMissing ? `install the package: ${entry.install}` : error.message;
}

/*
 * How the models of each provider are made. Provider packages are optional peers, loaded when a model is made.
 */

interface ModelProvider {
  /** The command that installs the client. Undefined for a built-in client. */
  readonly install: string | undefined;
  /**
   * Variables that may hold the key, the usual one first. Empty if no key is needed, or if the client finds its own.
   */
  readonly keys: readonly string[];
  /** The variable that replaces the provider's own address. */
  readonly baseURL: string | undefined;
  /** The dialect of the model. Undefined to derive it from the client and the host. */
  readonly dialect: DialectName | undefined;
  /** Contract: makes a model, or rejects with the error of the provider's package. */
  readonly create: (fields: ModelFields) => Promise<BaseChatModel>;
}

const DASHSCOPE_COMPATIBLE = "https://dashscope.aliyuncs.com/compatible-mode/v1";

export const MODEL_PROVIDERS: Readonly<Record<string, ModelProvider>> = {
  offline: {
    install: undefined,
    keys: [],
    baseURL: undefined,
    dialect: undefined,
    create: async () => {
      // Most users of the library never use the offline model.
      const { OfflineChatModel } = await import("../../offline/offline-chat-model.js");
      return new OfflineChatModel();
    },
  },
  /** OpenAI, and every endpoint with its protocol. */
  openai: {
    install: "npm install @langchain/openai",
    keys: ["OPENAI_API_KEY"],
    baseURL: "OPENAI_BASE_URL",
    dialect: undefined,
    create: createOpenAIModel,
  },
  deepseek: {
    install: "npm install @langchain/deepseek",
    keys: ["DEEPSEEK_API_KEY"],
    baseURL: "DEEPSEEK_BASE_URL",
    dialect: "deepseek",
    create: createDeepSeekModel,
  },
  /** Qwen over DashScope's native protocol. */
  tongyi: {
    // The peers of this package contradict each other, so npm refuses it without the setting. With only
    // `--legacy-peer-deps`, npm would refuse every later install.
    install: "npm config set legacy-peer-deps=true --location=project && npm install @langchain/community",
    keys: ["ALIBABA_API_KEY", "DASHSCOPE_API_KEY"],
    baseURL: "DASHSCOPE_API_URL",
    dialect: "dashscope-native",
    create: createTongyiModel,
  },
  /** Qwen over DashScope's OpenAI-compatible endpoint. */
  qwen: {
    install: "npm install @langchain/openai",
    keys: ["DASHSCOPE_API_KEY", "ALIBABA_API_KEY"],
    baseURL: "DASHSCOPE_BASE_URL",
    dialect: "dashscope",
    create: (fields) => createOpenAIModel({ ...fields, baseURL: fields.baseURL ?? DASHSCOPE_COMPATIBLE }),
  },
  anthropic: byLangChain("anthropic", {
    package: "@langchain/anthropic",
    keys: ["ANTHROPIC_API_KEY"],
    baseURL: "ANTHROPIC_BASE_URL",
    baseURLField: "anthropicApiUrl",
    dialect: "anthropic",
  }),
  google: byLangChain("google", {
    package: "@langchain/google",
    keys: ["GOOGLE_API_KEY"],
    baseURL: "GOOGLE_BASE_URL",
    baseURLField: "endpoint",
    dialect: "gemini",
  }),
  "google-genai": byLangChain("google-genai", {
    package: "@langchain/google-genai",
    keys: ["GOOGLE_API_KEY"],
    baseURL: "GOOGLE_BASE_URL",
    baseURLField: "baseUrl",
    dialect: "gemini",
  }),
  mistralai: {
    install: "npm install @langchain/mistralai",
    keys: ["MISTRAL_API_KEY"],
    baseURL: "MISTRAL_BASE_URL",
    dialect: "mistral",
    create: createMistralModel,
  },
  groq: byLangChain("groq", {
    package: "@langchain/groq",
    keys: ["GROQ_API_KEY"],
    dialect: "openai-compatible",
  }),
  xai: byLangChain("xai", {
    package: "@langchain/xai",
    keys: ["XAI_API_KEY"],
    dialect: "openai-compatible",
  }),
  // These clients find their credentials and hosts themselves.
  ollama: byLangChain("ollama", { package: "@langchain/ollama" }),
  bedrock: byLangChain("bedrock", { package: "@langchain/aws" }),
  "google-vertexai": byLangChain("google-vertexai", {
    package: "@langchain/google-vertexai",
    dialect: "gemini",
  }),
};

async function createOpenAIModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatOpenAI } = await importOptional<typeof import("@langchain/openai")>("@langchain/openai");
  return new ChatOpenAI({ ...fields, ...(baseURL !== undefined && { configuration: { baseURL } }) });
}

interface LangChainProvider {
  readonly package: string;
  readonly keys?: readonly string[];
  readonly baseURL?: string;
  /** The name of the base URL in the fields of the provider's class. */
  readonly baseURLField?: string;
  readonly dialect?: DialectName;
}

/** A provider that LangChain's own `initChatModel` knows. */
function byLangChain(name: string, provider: LangChainProvider): ModelProvider {
  const { keys = [], baseURL: variable, baseURLField, dialect } = provider;
  return {
    install: `npm install langchain ${provider.package}`,
    keys,
    baseURL: variable,
    dialect: dialect ?? "strict",
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

/** Contract: resolves to the model of a name, or rejects with a clear error. */
export type CreateModel = (name: string) => Promise<BaseChatModel>;

/**
 * Returns a `createModel` that makes each model once, when it is first needed. Graphs that get the same
 * function share their models, with their connections and with what is known about their providers.
 *
 * @param make Makes a model. After a failure it is called again the next time. @default createModel
 * @example
 * ```ts
 * import { cachedCreateModel, createAgentGraph, createModel } from "langgraph-tether";
 *
 * let made = 0;
 * const shared = cachedCreateModel((name) => {
 *   made += 1;
 *   return createModel(name);
 * });
 * const writer = createAgentGraph({ model: "offline:", createModel: shared });
 * const reviewer = createAgentGraph({ model: "offline:", createModel: shared });
 * await writer.invoke({ messages: "Hello!" });
 * await reviewer.invoke({ messages: "Hello!" });
 * console.log(made); // 1
 * ```
 */
export function cachedCreateModel(make: CreateModel = createModel): CreateModel {
  const made = new Map<string, Promise<BaseChatModel>>();
  const shared: CreateModel = (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const model = make(name);
    made.set(name, model);
    model.catch(() => made.delete(name));
    return model;
  };
  if (readsEnvironment(make)) ENVIRONMENT_READERS.add(shared);
  return shared;
}

const ENVIRONMENT_READERS = new WeakSet<CreateModel>();

/** Whether models are made by `createModel`, with the keys of the process's environment. */
export function readsEnvironment(make: CreateModel): boolean {
  return make === createModel || ENVIRONMENT_READERS.has(make);
}

/** Providers by the first letters of their models' names. */
const MAKERS: readonly (readonly [beginning: RegExp, provider: string])[] = [
  [/^(gpt|chatgpt|o\d)/i, "openai"],
  [/^claude/i, "anthropic"],
  [/^(gemini|gemma)/i, "google-genai"],
  [/^deepseek/i, "deepseek"],
  [/^(mistral|ministral|codestral|magistral)/i, "mistralai"],
  [/^qw/i, "qwen"],
  [/^grok/i, "xai"],
];

/** The name that was probably meant, as `provider:model`. Undefined if no guess is possible. */
function nearestModelName(given: string, providers: readonly string[]): string | undefined {
  const separator = given.indexOf(":");
  if (separator === -1) {
    const provider = makerOf(given);
    // A provider alone lacks the model, which only the caller knows.
    if (given === "offline") return "offline:";
    return provider === undefined || providers.includes(given) ? undefined : `${provider}:${given}`;
  }
  const [name, model] = [given.slice(0, separator), given.slice(separator + 1)];
  const provider = nearestOf(name, providers) ?? makerOf(name);
  return model === "" || provider === undefined || provider === name ? undefined : `${provider}:${model}`;
}

function makerOf(name: string): string | undefined {
  return MAKERS.find(([beginning]) => beginning.test(name))?.[1];
}

/*
 * Checks that a value is a chat model that a graph can use: its tools and its other models are set on the graph.
 */

const EXPECTATION = "a chat model or the name of one";

/** How a model was changed so that a graph cannot use the result, and what to do instead. */
interface Change {
  readonly got: string;
  readonly advice: string;
}

const BOUND_TOOLS: Change = {
  got: "a model with bound tools",
  advice: "Pass the model itself, and its tools as `tools`.",
};
const STRUCTURED: Change = {
  got: "a sequence, as `withStructuredOutput` makes it",
  advice: "Pass the model itself.",
};
const FALLBACKS: Change = {
  got: "a model with fallbacks",
  advice: "Pass the model itself, and the other models as `fallbackModels`.",
};

/**
 * @param setting The name of the setting in errors.
 * @param hint The end of the error for a value that is no model.
 * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
 * fallbacks.
 */
export function assertPlainModel(setting: string, model: unknown, hint = ""): void {
  if (!isRecord(model) || typeof model["invoke"] !== "function") {
    throw InvalidSettingError.expected(setting, EXPECTATION, model, hint);
  }
  const change = changeOf(model);
  if (change === undefined) return;
  throw new InvalidSettingError(
    setting,
    `Expected \`${setting}\` to be ${EXPECTATION}, got ${change.got}. ${change.advice}`,
  );
}

/** A changed model is recognised by its fields. */
function changeOf(model: Record<string, unknown>): Change | undefined {
  // LangChain clients keep bound options in one of these fields.
  if (["kwargs", "config", "defaultOptions"].some((name) => hasTools(model[name]))) return BOUND_TOOLS;
  // `initChatModel` queues these operations until its model is made.
  const queued = model["_queuedMethodOperations"];
  if (isRecord(queued) && "bindTools" in queued) return BOUND_TOOLS;
  if (isRecord(queued) && "withStructuredOutput" in queued) return STRUCTURED;
  const bound = model["bound"];
  if (isRecord(bound)) return changeOf(bound);
  if ("fallbacks" in model && "runnable" in model) return FALLBACKS;
  if ("steps" in model || ("first" in model && "last" in model)) return STRUCTURED;
  return undefined;
}

function hasTools(options: unknown): boolean {
  return isRecord(options) && Array.isArray(options["tools"]) && options["tools"].length > 0;
}
