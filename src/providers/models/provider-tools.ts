/** Tools that a provider runs itself, such as web search. They are sent as they are, and their calls never come here. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { InvalidToolError } from "../../errors.js";
import { isPlainObject } from "../../shared/is-plain-object.js";
import { dialectOf, innermost, rememberDialect } from "../dialects/dialect-of.js";
import type { DialectName } from "../dialects/dialects.js";
import { parseModelName } from "./create-model.js";
import { MODEL_PROVIDERS } from "./model-providers.js";
import { viewOf } from "./model-view.js";

/**
 * The definition of a tool that the provider runs, in the provider's own form: `{ type: "web_search_preview" }` for
 * OpenAI, `{ type: "web_search_20250305", name: "web_search" }` for Anthropic, `{ googleSearch: {} }` for Gemini.
 */
export type ProviderTool = { readonly [field: string]: unknown };

/** Types of tools whose calls somebody else than the provider answers. */
const CALLER_TYPES: ReadonlySet<unknown> = new Set(["function", "custom"]);

export function isProviderTool(value: unknown): value is ProviderTool {
  if (!isPlainObject(value) || typeof value["invoke"] === "function") return false;
  const { type, name } = value;
  if (typeof type === "string") return !CALLER_TYPES.has(type);
  // Gemini names the tool in its only key.
  const fields = Object.values(value);
  return type === undefined && name === undefined && fields.length === 1 && fields.every(isPlainObject);
}

type Maker = "OpenAI" | "Anthropic" | "Google";

const DIALECTS: Readonly<Record<Maker, readonly DialectName[]>> = {
  OpenAI: ["openai", "openai-responses"],
  Anthropic: ["anthropic"],
  Google: ["gemini"],
};

/** Anthropic's types end with a date. OpenAI has dates with hyphens. */
const ANTHROPIC_TYPE = /_\d{8}$|^mcp_toolset$/;
const OPENAI_TYPE =
  /^(web_search|file_search|code_interpreter|computer|image_generation|mcp|local_shell|shell|apply_patch)(?!_?\w*_\d{8}$)/;

/** The provider whose tool it is. Undefined if that is not known. */
function makerOf({ type }: ProviderTool): Maker | undefined {
  if (typeof type !== "string") return "Google";
  if (ANTHROPIC_TYPE.test(type)) return "Anthropic";
  return OPENAI_TYPE.test(type) ? "OpenAI" : undefined;
}

/** Dialects of hosts that may pass a tool on to any provider. */
const UNKNOWN: ReadonlySet<DialectName> = new Set<DialectName>([
  "strict",
  "openai-compatible",
  "anthropic-openai",
  "gemini-openai",
  "mistral-openai",
]);

/** @throws InvalidToolError for a tool of another provider. A provider that is not known takes every tool. */
function assertTaken(tools: readonly ProviderTool[], dialect: DialectName, model: string): void {
  if (UNKNOWN.has(dialect)) return;
  for (const tool of tools) {
    const maker = makerOf(tool);
    if (maker === undefined || DIALECTS[maker].includes(dialect)) continue;
    const name = String(tool["type"] ?? Object.keys(tool)[0]);
    throw new InvalidToolError(
      name,
      `\`${name}\` is a tool that ${maker} runs, and ${model} has the dialect \`${dialect}\`. Remove the tool, or choose another model.`,
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
    const { provider } = parseModelName(model);
    const dialect = provider === "openai" ? "openai" : MODEL_PROVIDERS[provider]?.dialect;
    if (dialect !== undefined) assertTaken(tools, dialect, `\`${model}\``);
  }
}

/** The offline model ignores tools of providers. */
function isOffline(model: object): boolean {
  const type: unknown = Reflect.get(innermost(model), "_llmType");
  return typeof type === "function" && type.call(innermost(model)) === "offline";
}

const responsesViews = new WeakMap<BaseChatModel, BaseChatModel>();

/**
 * The model for requests with these tools. LangChain's client for OpenAI sends them with the Responses API, so the model
 * also counts as one of that API: its history then keeps the items of the tools.
 *
 * @throws InvalidToolError for a tool that the model's provider would refuse.
 */
export function withProviderTools(model: BaseChatModel, tools: readonly ProviderTool[]): BaseChatModel {
  if (tools.length === 0 || isOffline(model)) return model;
  const dialect = dialectOf(model);
  assertTaken(tools, dialect, "the model");
  if (dialect !== "openai" || innermost(model) !== model) return model;
  const view =
    responsesViews.get(model) ??
    rememberDialect(viewOf(model, { useResponsesApi: true }), "openai-responses");
  responsesViews.set(model, view);
  return view;
}
