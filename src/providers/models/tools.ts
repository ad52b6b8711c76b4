/**
 * What a request has besides its messages: tools, how they are bound, provider-run tools, the response format, and
 * prompt cache marks.
 */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { InvalidToolError } from "../../errors.js";
import { isPlainObject, isRecord, madeOnce } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";
import type { DialectName } from "../contract/dialect-name.js";
import { openaiFormat } from "../contract/openai-client.js";
import type { ForcedCall, PromptCacheMarks, Provider, ProviderTool } from "../contract/provider.js";
import type { WantedFormat } from "../contract/response-format.js";
import { dialectOf, identityOf, innermost, rememberDialect } from "../table/dialect-of.js";
import { dialectNamed } from "../table/dialects.js";
import { PROVIDERS } from "../table/providers.js";
import { parseModelName } from "./create-model.js";

/** Types of tools whose calls someone other than the provider answers. */
const CALLER_TYPES: ReadonlySet<unknown> = new Set(["function", "custom"]);

export function isProviderTool(value: unknown): value is ProviderTool {
  if (!isPlainObject(value) || typeof value["invoke"] === "function") return false;
  const { type, name } = value;
  if (typeof type === "string") return !CALLER_TYPES.has(type);
  // Some providers name the tool in its only key.
  const fields = Object.values(value);
  return type === undefined && name === undefined && fields.length === 1 && fields.every(isPlainObject);
}

/** Later makers are asked first: some of their tools look like OpenAI's. */
const MAKERS = PROVIDERS.toReversed().flatMap(({ tools = [] }) => tools);

/** @throws InvalidToolError for another provider's tool. An unknown provider accepts every tool. */
function assertTaken(tools: readonly ProviderTool[], dialect: DialectName, model: string): void {
  // This host may pass a tool on to any provider.
  if (dialectNamed(dialect).makers.length === 0) return;
  for (const tool of tools) {
    const own = MAKERS.find(({ isOwn }) => isOwn(tool));
    if (own === undefined || own.dialects.includes(dialect)) continue;
    const name = String(tool["type"] ?? Object.keys(tool)[0]);
    throw new InvalidToolError(
      name,
      `\`${name}\` is a tool that ${own.maker} runs, and ${model} has the dialect \`${dialect}\`. Remove the tool, or choose another model.`,
    );
  }
}

/**
 * Checks the models that are known when the graph is built: a model itself, and names whose provider has one dialect.
 *
 * @throws InvalidToolError for a tool that a model's provider would refuse.
 */
export function checkProviderTools(
  tools: readonly ProviderTool[],
  models: readonly (BaseChatModel | string)[],
): void {
  for (const model of models) {
    if (typeof model !== "string") {
      if (!isOffline(model)) assertTaken(tools, dialectOf(model), "the model");
      continue;
    }
    const { dialect, usualDialect = dialect } = parseModelName(model).source;
    if (usualDialect !== undefined) assertTaken(tools, usualDialect, `\`${model}\``);
  }
}

/** The offline model ignores provider tools. */
const isOffline = (model: object): boolean => identityOf(model).client === "offline";

const responsesViews = new WeakMap<BaseChatModel, BaseChatModel>();

/**
 * The model for requests with these tools. LangChain's OpenAI client sends them with the Responses API, so the model
 * also counts as one of that API: its history then keeps the tools' items.
 *
 * @throws InvalidToolError for a tool that the model's provider would refuse.
 */
export function withProviderTools(model: BaseChatModel, tools: readonly ProviderTool[]): BaseChatModel {
  if (tools.length === 0 || isOffline(model)) return model;
  const dialect = dialectOf(model);
  assertTaken(tools, dialect, "the model");
  const sentAs = MAKERS.find((maker) => maker.sentAs?.[dialect])?.sentAs?.[dialect];
  if (sentAs === undefined || innermost(model) !== model) return model;
  return madeOnce(responsesViews, model, () =>
    rememberDialect(viewOf(model, sentAs.settings), sentAs.dialect),
  );
}

type Bound = ReturnType<NonNullable<BaseChatModel["bindTools"]>>;
type Options = Parameters<NonNullable<BaseChatModel["bindTools"]>>[1];

/** By model, tool list and choice. A client converts its tools' schemas each time. */
const known = new WeakMap<
  BaseChatModel,
  WeakMap<readonly BindToolsInput[], Map<unknown, Bound | undefined>>
>();

/** The same as {@link bindTools}, made once for each model and list of tools. The list must not change. */
export function bindToolsOnce(
  model: BaseChatModel,
  tools: readonly BindToolsInput[],
  toolChoice: string | undefined,
): Bound | undefined {
  const ofModel = madeOnce(known, model, () => new WeakMap());
  const ofTools = madeOnce(ofModel, tools, () => new Map());
  return madeOnce(ofTools, toolChoice, () =>
    bindTools(model, tools, toolChoice === undefined ? {} : { tool_choice: toolChoice }),
  );
}

/**
 * The model with tools; undefined if it cannot call tools. `withConfig` puts a binding around a model, which has no
 * `bindTools`. There the model inside gets the tools, and the binding stays around it.
 */
function bindTools(
  model: BaseChatModel,
  tools: readonly BindToolsInput[],
  options: Options,
): Bound | undefined {
  if (model.bindTools !== undefined) return model.bindTools([...tools], options);
  if (!isBinding(model)) return undefined;
  const bound = bindTools(model.bound, tools, options);
  return bound && viewOf<Bound & Binding>(model, { bound });
}

type Binding = { readonly bound: BaseChatModel };

function isBinding<Model extends object>(model: Model): model is Model & Binding {
  return "bound" in model && typeof model.bound === "object" && model.bound !== null;
}

/*
 * Marks what a provider keeps of a request in its prompt cache. Most providers cache by themselves.
 */

/** Whether requests are marked for a provider that caches only what is marked. */
export type PromptCache = "auto" | "off";

const NONE: PromptCacheMarks = {
  isMarked: () => false,
  tools: (tools) => tools,
  messages: (messages) => messages,
  parameters: {},
};

/** The marks that the model's provider reads. @param parts The messages of the request, and its tools. */
export function promptCacheMarks(
  model: BaseChatModel,
  wanted: PromptCache,
  parts: readonly (readonly object[])[],
): PromptCacheMarks {
  const marks = CACHE_MARKS[dialectOf(model)];
  return marks === undefined || wanted === "off" || parts.some((list) => list.some(marks.isMarked))
    ? NONE
    : marks;
}

const CACHE_MARKS = byDialect("promptCache");

const CACHED_CHOICES = new Set(PROVIDERS.flatMap(({ cachesToolChoice = [] }) => cachesToolChoice));

/** Whether another tool choice makes the provider read all messages again that it has in its cache. */
export function cachesToolChoice(model: object): boolean {
  return CACHED_CHOICES.has(dialectOf(model));
}

/*
 * Asks for a response in a JSON schema.
 */

const FORMATS = byDialect("formats");
const FORCED_CALLS = byDialect("forcedCall");

/** The call options for one client. A client ignores the options of others, so an unknown one gets all of them. */
export function formatOptions(model: object, wanted: WantedFormat): Readonly<Record<string, unknown>> {
  const dialect = dialectOf(model);
  if (dialect !== "strict" && dialect !== "as-stored")
    return (FORMATS[dialect] ?? openaiFormat).options(wanted);
  // Of two forms of one option, that of OpenAI is sent.
  const all = Object.values(FORMATS).toReversed();
  return Object.assign({}, ...all.map(({ options }) => options(wanted)));
}

export function forcedCallOf(model: BaseChatModel): ForcedCall {
  return FORCED_CALLS[dialectOf(model)]?.(innermost(model)) ?? "any";
}

/** Whether the provider makes the model's responses match the schema, by the profile of LangChain's client. */
export function canFormat(model: BaseChatModel, wanted: WantedFormat, hasTools: boolean): boolean {
  const profile: unknown = Reflect.get(innermost(model), "profile");
  if (!isRecord(profile) || profile["structuredOutput"] !== true) return false;
  return FORMATS[dialectOf(model)]?.isKept?.(wanted, hasTools) === true;
}

/** What the makers have for each dialect. */
function byDialect<Field extends "formats" | "forcedCall" | "promptCache">(
  field: Field,
): NonNullable<Provider[Field]> {
  return Object.assign({}, ...PROVIDERS.map((provider) => provider[field]));
}
