import { isRecord } from "../../shared/is-record.js";
import type { DialectName } from "./dialects.js";

/** Dialects by the `_llmType` of LangChain's clients. `openai` needs a closer look, below. */
const DIALECTS_OF_CLIENTS: Readonly<Record<string, DialectName>> = {
  offline: "openai",
  openai: "openai",
  azure_openai: "openai",
  deepseek: "deepseek",
  alibaba_tongyi: "dashscope-native",
  anthropic: "anthropic",
  googlegenerativeai: "gemini",
  google: "gemini",
  mistral_ai: "mistral",
};

/** OpenAI's client is used with many hosts. The rules of these are known. */
const DIALECTS_OF_HOSTS: readonly (readonly [host: RegExp, dialect: DialectName])[] = [
  [/^api\.openai\.com$|\.openai\.azure\.com$/, "openai"],
  [/^dashscope[a-z-]*\.aliyuncs\.com$/, "dashscope"],
  [/^api\.deepseek\.com$/, "deepseek"],
];

/** Set by {@link createModel} for a model made by a provider's name, because its base URL may be a proxy's. */
const MADE_FOR = new WeakMap<object, DialectName>();

export interface ModelIdentity {
  readonly dialect: DialectName;
  /** The name of the model; undefined if it has none. */
  readonly modelId: string | undefined;
}

/**
 * The dialect of a chat model: the provider family whose rules its messages must keep. For an unknown model
 * this is `"strict"`, which every provider accepts.
 *
 * @param model A chat model, or one with bound options.
 * @example
 * ```ts
 * import { createModel, dialectOf } from "langgraph-tether";
 *
 * const model = await createModel("offline:");
 * console.log(dialectOf(model)); // openai
 * ```
 */
export function dialectOf(model: object): DialectName {
  const client = innermost(model);
  const made = MADE_FOR.get(client) ?? MADE_FOR.get(model);
  if (made !== undefined) return made;
  const type: unknown = call(client, "_llmType");
  const known = typeof type === "string" && Object.hasOwn(DIALECTS_OF_CLIENTS, type);
  const dialect = known ? DIALECTS_OF_CLIENTS[type] : undefined;
  return dialect === "openai" && type === "openai" ? dialectOfOpenAIClient(client) : (dialect ?? "strict");
}

export function identityOf(model: object): ModelIdentity {
  const client = innermost(model);
  const name: unknown = Reflect.get(client, "model") ?? Reflect.get(client, "modelName");
  return { dialect: dialectOf(model), modelId: typeof name === "string" && name !== "" ? name : undefined };
}

export function rememberDialect<Model extends object>(model: Model, dialect: DialectName): Model {
  MADE_FOR.set(model, dialect);
  return model;
}

function dialectOfOpenAIClient(client: object): DialectName {
  const config: unknown = Reflect.get(client, "clientConfig");
  const baseURL: unknown = isRecord(config) ? Reflect.get(config, "baseURL") : undefined;
  const host = typeof baseURL === "string" && URL.canParse(baseURL) ? new URL(baseURL).hostname : undefined;
  const dialect =
    host === undefined ? "openai" : (DIALECTS_OF_HOSTS.find(([known]) => known.test(host))?.[1] ?? "strict");
  return dialect === "openai" && call(client, "_useResponsesApi") === true ? "openai-responses" : dialect;
}

/** A model with bound options is a wrapper. */
export function innermost(model: object): object {
  const bound: unknown = Reflect.get(model, "bound");
  return isRecord(bound) ? innermost(bound) : model;
}

/** Undefined if there is no such method. */
function call(target: object, name: string): unknown {
  const method: unknown = Reflect.get(target, name);
  return typeof method === "function" ? Reflect.apply(method, target, []) : undefined;
}
