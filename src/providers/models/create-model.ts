/** Makes a chat model from its name. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { getEnvironmentVariable } from "@langchain/core/utils/env";
import { z } from "zod/v4";
import { InvalidModelError, InvalidSettingError } from "../../errors.js";
import {
  aFunction,
  checkGiven,
  checkSettings,
  hintAtClass,
  type Rule,
  text,
} from "../../shared/check-settings.js";
import { nearestOf } from "../../shared/text.js";
import { isRecord, madeOnce } from "../../shared/values.js";
import type { ModelSource } from "../contract/provider.js";
import { RETRY_FIELDS, toPlainError } from "../failure/model-failure.js";
import { createRedact } from "../failure/redact.js";
import { carryHostFields } from "../host-fields/client.js";
import { rememberDialect } from "../table/dialect-of.js";
import { PROVIDERS } from "../table/providers.js";

interface ModelName {
  readonly provider: string;
  readonly model: string;
  readonly source: ModelSource;
}

/** The options of `createModel`. */
export interface CreateModelOptions {
  /** The variables with keys and base URLs. An empty value counts as not set. @default the process's environment */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** @throws InvalidModelError if the name is not `provider:model` with a known provider. */
export function parseModelName(name: string, setting?: string): ModelName {
  const [provider = "", ...rest] = name.split(":");
  const model = rest.join(":");
  const source = Object.hasOwn(MODEL_SOURCES, provider) ? MODEL_SOURCES[provider] : undefined;
  if (source !== undefined && rest.length > 0 && (model !== "" || provider === "offline"))
    return { provider, model, source };
  const meant = nearestModelName(name, Object.keys(MODEL_SOURCES));
  const known = `with one of the providers ${Object.keys(MODEL_SOURCES).join(", ")}`;
  const [expected, question] =
    meant === undefined
      ? [`as \`provider:model\` ${known}`, ""]
      : ["as `provider:model`", ` Did you mean \`${meant}\`?`];
  const what = setting === undefined ? "a model" : `\`${setting}\` to be a model`;
  throw new InvalidModelError(name, `Expected ${what} ${expected}, got \`${name}\`.${question}`);
}

const environment = {
  schema: z.custom<object>(isRecord),
  expects: "an object with variables",
} satisfies Rule;

type Read = (variable: string) => string | undefined;

function readerOf(environment: CreateModelOptions["environment"]): Read {
  return (variable) =>
    (environment === undefined ? getEnvironmentVariable(variable) : environment[variable])?.trim() ||
    undefined;
}

/**
 * Makes a chat model by name: `openai:gpt-4o-mini`, or `offline:` for the embedded model that needs no key and no
 * network. Keys and base URLs come from the environment, under their usual names. If it can help, the client repeats a
 * failed request up to four times, with growing pauses: after a lost connection, a 5xx, or a 429 that is not an
 * exhausted quota.
 *
 * @param name `provider:model`.
 * @throws InvalidModelError for a malformed name, an unknown provider, a missing package or a missing key.
 * @throws InvalidSettingError for a name that is not a string, and for any option but `environment`: a client's options are
 * those of its own class.
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
  // `names.map(createModel)` passes an index.
  if (isRecord(options)) checkSettings(options, { environment }, "options");
  checkGiven("name", name, { ...text, expects: "a string such as `openai:gpt-4o-mini`" });
  const { model, source } = parseModelName(name);
  const read = readerOf(options.environment);
  const apiKey = readKey(name, source, read);
  const baseURL = source.baseURL === undefined ? undefined : read(source.baseURL);
  if (baseURL !== undefined && !URL.canParse(baseURL)) {
    throw new InvalidModelError(
      name,
      `Expected \`${source.baseURL}\` to be a URL, for the model \`${name}\`.`,
    );
  }
  try {
    const made = await source.create({ model, apiKey, baseURL, ...RETRY_FIELDS });
    const { dialect, carriesHostFields = false } = source;
    if (dialect === undefined) return made;
    return rememberDialect(
      carriesHostFields ? carryHostFields(made, { dialect, modelId: model }) : made,
      dialect,
    );
  } catch (error) {
    const cause = toPlainError(error, createRedact({ apiKey }));
    const advice = adviceFor(cause, source);
    throw new InvalidModelError(name, `The model \`${name}\` could not be made: ${advice}`, { cause });
  }
}

function readKey(name: string, { keys = [], install }: ModelSource, read: Read): string {
  for (const variable of keys) {
    const key = read(variable);
    if (key !== undefined) return key;
  }
  const [usual] = keys;
  if (usual === undefined) return "";
  // Only making the model tells whether the package is there, and then the graph is in use.
  throw new InvalidModelError(
    name,
    `The model \`${name}\` needs a key: set \`${usual}\` in the environment. It also needs its package: ${install}`,
  );
}

function adviceFor(error: Error, source: ModelSource): string {
  const isMissing =
    ("code" in error && error.code === "ERR_MODULE_NOT_FOUND") ||
    /^Unable to import|Cannot find (package|module)/.test(error.message);
  return isMissing ? `install the package: ${source.install}` : error.message;
}

/** How each name's models are made, by its first part. */
export const MODEL_SOURCES: Readonly<Record<string, ModelSource>> = Object.assign(
  {
    offline: {
      create: async () => {
        // Most users of the library never use the offline model.
        const { OfflineChatModel } = await import("../offline/offline-chat-model.js");
        return new OfflineChatModel();
      },
    },
  } satisfies Record<string, ModelSource>,
  ...PROVIDERS.map(({ models }) => models),
);

/** Contract: resolves to the named model, or rejects with a clear error. */
export type CreateModel = (name: string) => Promise<BaseChatModel>;

/**
 * Returns a `createModel` that makes each model once, when it is first needed. Graphs with the same function share
 * their models, with their connections and what is known about their providers.
 *
 * @param make Makes a model. After a failure it is called again the next time. @default createModel
 * @throws InvalidSettingError for a value that is not a function.
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
  checkGiven("make", make, aFunction());
  const made = new Map<string, Promise<BaseChatModel>>();
  const shared: CreateModel = (name) =>
    madeOnce(made, name, () => {
      const model = make(name);
      model.catch(() => made.delete(name));
      return model;
    });
  return readsEnvironment(make) ? readingEnvironment(shared) : shared;
}

const ENVIRONMENT_READERS = new WeakSet<CreateModel>();

/** Marks a function that makes models as `createModel` does, so that a missing key is found before a run. */
export function readingEnvironment(make: CreateModel): CreateModel {
  ENVIRONMENT_READERS.add(make);
  return make;
}

/** Whether `createModel` makes the models, with keys from the process's environment. */
function readsEnvironment(make: CreateModel): boolean {
  return make === createModel || ENVIRONMENT_READERS.has(make);
}

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
  return PROVIDERS.map(({ modelNames }) => modelNames).find((names) => names?.[0].test(name))?.[1];
}

/*
 * A model as an option gives it: a chat model or its name. Its tools and fallbacks are set on the graph.
 */

export type GivenModel = BaseChatModel | string;

/**
 * @param setting The option's name in errors.
 * @param make Makes the named model. If it reads the environment, a missing key is reported at once.
 * @throws InvalidModelError for a name that cannot be resolved, or a missing key.
 * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
 * fallbacks.
 */
export function assertGivenModel(
  setting: string,
  model: unknown,
  make: CreateModel,
): asserts model is GivenModel {
  if (typeof model !== "string") {
    assertPlainModel(setting, model);
    return;
  }
  const { source } = parseModelName(model, setting);
  if (readsEnvironment(make)) readKey(model, source, readerOf(undefined));
}

const EXPECTATION = "a chat model or the name of one";

/**
 * @param setting The setting's name in errors.
 * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
 * fallbacks.
 */
export function assertPlainModel(setting: string, model: unknown): void {
  if (!isRecord(model) || typeof model["invoke"] !== "function") {
    throw InvalidSettingError.expected(setting, EXPECTATION, model, hintAtClass(model));
  }
  const change = changeOf(model);
  if (change === undefined) return;
  throw new InvalidSettingError(setting, `Expected \`${setting}\` to be ${EXPECTATION}, got ${change}`);
}

const BOUND_TOOLS = "a model with bound tools. Pass the model itself, and its tools as `tools`.";
const STRUCTURED = "a sequence, as `withStructuredOutput` makes it. Pass the model itself.";
const FALLBACKS = "a model with fallbacks. Pass the model itself, and the other models as `fallbackModels`.";

/** How a model was changed so that a graph cannot use it, and what to do instead. Its fields tell. */
function changeOf(model: Record<string, unknown>): string | undefined {
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
