/** Which dialect a chat model gets: by its client, its host and its name. */

import { forAllCopies } from "../../shared/for-all-copies.js";
import { isRecord } from "../../shared/values.js";
import { RESPONSES } from "../contract/author.js";
import type { DialectName } from "../contract/dialect-name.js";
import { endpointOf, isChatModel, originOf, rulingHostOf } from "../contract/model-view.js";
import { apiOf } from "../contract/openai-api.js";
import type { ModelIdentity } from "../contract/provider.js";
import { anthropicModels } from "../makers/anthropic/dialect.js";
import { bedrockModels } from "../makers/bedrock/dialect.js";
import { compatibleModels } from "../makers/compatible/dialect.js";
import { dashscopeModels } from "../makers/dashscope/dialect.js";
import { deepseekModels } from "../makers/deepseek/dialect.js";
import { geminiModels } from "../makers/gemini/dialect.js";
import { mistralModels } from "../makers/mistral/dialect.js";
import { openaiModels } from "../makers/openai/dialect.js";

/** The models that get a maker's dialects. */
interface MakerModels {
  /** Its clients' dialects, by `_llmType`. */
  readonly clients?: Readonly<Record<string, DialectName>>;
  /** The `_llmType` of clients with OpenAI's protocol. They serve many hosts, and the host tells the dialect. */
  readonly clientsOfAnyHost?: readonly string[];
  /** Its own hosts with OpenAI's protocol. */
  readonly hosts?: readonly (readonly [host: RegExp, dialect: DialectName])[];
  /** The names of its models at other hosts with OpenAI's protocol. */
  readonly hostedModels?: readonly (readonly [name: RegExp, dialect: DialectName])[];
}

/** From the general to the particular. If two makers know the same name or host, the later one is right. */
const MAKERS: readonly MakerModels[] = [
  openaiModels,
  deepseekModels,
  dashscopeModels,
  mistralModels,
  geminiModels,
  anthropicModels,
  bedrockModels,
  compatibleModels,
];

/** By the `_llmType` of LangChain's clients. */
const DIALECTS_OF_CLIENTS: ReadonlyMap<unknown, DialectName> = new Map([
  ["offline", "openai"],
  ...MAKERS.flatMap(({ clients = {} }) => Object.entries(clients)),
]);

/** Clients with OpenAI's protocol, which many hosts use. */
export const OPENAI_CLIENTS: ReadonlySet<unknown> = new Set(
  MAKERS.flatMap(({ clientsOfAnyHost = [] }) => clientsOfAnyHost),
);

const HOSTS = MAKERS.flatMap(({ hosts = [] }) => hosts);
const HOSTED_MODELS = MAKERS.flatMap(({ hostedModels = [] }) => hostedModels);

/** Set by {@link createModel} for a model made by a provider's name, because its base URL may be a proxy's. */
const MADE_FOR = /* @__PURE__ */ forAllCopies("made-for", () => new WeakMap<object, DialectName>());

/**
 * The dialect of a chat model: the provider family whose rules its messages must keep. For an unknown host with OpenAI's
 * protocol this is `"openai-compatible"`. For an unknown client it is `"as-stored"`.
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
  if (OPENAI_CLIENTS.has(type)) return dialectOfOpenAIClient(client, type);
  return DIALECTS_OF_CLIENTS.get(type) ?? "as-stored";
}

/** For whom a request with this model is made. Whatever is bound to it, it is the same. */
export function identityOf(model: object): ModelIdentity {
  const client = innermost(model);
  // Azure's client with bound tools is OpenAI's client, and has one of Azure's for each protocol.
  const part: unknown = Reflect.get(client, "completions");
  const sender = isChatModel(part) ? part : client;
  const kind: unknown = call(sender, "_llmType");
  return {
    dialect: dialectOf(model),
    modelId: modelIdOf(client),
    client: typeof kind === "string" ? kind + (usesResponses(client) ? RESPONSES : "") : undefined,
    host: originOf(sender, kind),
  };
}

/** A model at an address: all clients with this name ask the same one. Undefined if the address is unknown. */
export function servedModelOf(model: object): string | undefined {
  const address = endpointOf(innermost(model));
  return address === undefined ? undefined : `${address} ${modelIdOf(innermost(model))}`;
}

/** A name for people: the model's, or its kind of client. */
export function displayNameOf(model: object): string | undefined {
  const kind = call(model, "_llmType");
  return identityOf(model).modelId ?? (typeof kind === "string" ? kind : undefined);
}

/** OpenAI's client has two protocols, and stores what it gets in two forms. */
function usesResponses(client: object): boolean {
  const known = apiOf(client);
  return known === undefined ? call(client, "_useResponsesApi") === true : known === "responses";
}

function modelIdOf(client: object): string | undefined {
  const name: unknown = Reflect.get(client, "model") ?? Reflect.get(client, "modelName");
  return typeof name === "string" && name !== "" ? name : undefined;
}

export function rememberDialect<Model extends object>(model: Model, dialect: DialectName): Model {
  MADE_FOR.set(model, dialect);
  return model;
}

function dialectOfOpenAIClient(client: object, type: unknown): DialectName {
  const isResponses = usesResponses(client);
  const address = rulingHostOf(client, type);
  const ofHost = HOSTS.findLast(([host]) => host.test(address))?.[1];
  // Another host with the Responses API has its form, and not what OpenAI demands of stored items.
  if (isResponses) return ofHost === "openai" ? "openai-responses" : "responses-compatible";
  const name = modelIdOf(client) ?? "";
  // Other hosts serve many makers' models: OpenRouter, LiteLLM, Bedrock, Vertex AI, Azure's Foundry, vLLM. The model's
  // name tells its maker: `anthropic/claude-sonnet-4.5`, `us.anthropic.claude-sonnet-4-5-v1:0`. Qwen's and Llama's
  // models have no rules of their own.
  const ofModel = HOSTED_MODELS.findLast(([model]) => model.test(name))?.[1];
  return ofHost ?? ofModel ?? "openai-compatible";
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
