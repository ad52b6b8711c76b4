import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { getEnvironmentVariable } from "@langchain/core/utils/env";
import { InvalidModelError } from "../../errors.js";
import { rememberDialect } from "../dialects/dialect-of.js";
import { toPlainError } from "../failure/plain-error.js";
import { createRedact } from "../failure/redact.js";
import { RETRY_FIELDS } from "../failure/retry-policy.js";
import { MODEL_PROVIDERS, type ModelProvider } from "./model-providers.js";
import { nearestModelName } from "./nearest-model-name.js";

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
