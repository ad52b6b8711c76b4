/** What a response format adds to a model request: tools, a tool choice, and options of the client. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { dialectOf, innermost } from "../../providers/dialects/dialect-of.js";
import { canFormat, formatOptions, type WantedFormat } from "../../providers/models/response-format.js";
import type { FormatPlan } from "../../settings/format/read-response-format.js";
import type { ToolStrategyOptions } from "../../settings/format/response-format.js";
import type { Format } from "../../settings/format/response-schema.js";
import type { ToolChoice } from "../../settings/tool-choice.js";
import { isRecord } from "../../shared/is-record.js";

/** The format of one request. */
export type ActiveFormat =
  /** The model responds with a call of one of the formats. */
  | { readonly kind: "tool"; readonly formats: readonly Format[]; readonly options: ToolStrategyOptions }
  /** The model responds with a text in JSON. */
  | { readonly kind: "provider"; readonly format: Format; readonly strict: boolean | undefined };

/** @param hasTools Whether the request has tools besides those of the format. */
export function activeFormat(plan: FormatPlan, model: BaseChatModel, hasTools: boolean): ActiveFormat {
  const { strategy, formats, strict, options } = plan;
  const [format] = formats;
  if (format === undefined || strategy === "tool") return { kind: "tool", formats, options };
  const isProvider = strategy === "provider" || canFormat(model, { ...format, strict }, hasTools);
  return isProvider ? { kind: "provider", format, strict } : { kind: "tool", formats, options };
}

/** The tools that a format can offer to a model, as definitions in OpenAI's form. */
export function formatTools({ strategy, formats }: FormatPlan): BindToolsInput[] {
  return strategy === "provider" ? [] : formats.map(toolOf);
}

function toolOf({ name, description, jsonSchema }: Format): BindToolsInput {
  const text = description ?? "Tool for extracting structured output from the model's response.";
  return { type: "function", function: { name, description: text, parameters: jsonSchema } };
}

/** The tools that a model is offered, and whether it may call them. */
export interface Offer {
  readonly tools: readonly BindToolsInput[];
  readonly toolChoice: ToolChoice;
}

export interface FormatRequest extends Offer {
  /** Contract: the options of the client that asks for the format. */
  readonly clientOptions?: (model: object) => Readonly<Record<string, unknown>>;
}

/** Adds a format to the tools of the graph and their choice. The format holds even if the tools are off. */
export function formatRequest(active: ActiveFormat, model: BaseChatModel, offer: Offer): FormatRequest {
  if (active.kind === "tool") {
    const { formats } = active;
    return {
      tools: [...offer.tools, ...formats.map(toolOf)],
      toolChoice: choiceFor(formats, model, offer),
    };
  }
  const wanted: WantedFormat = { ...active.format, strict: active.strict };
  return { ...offer, clientOptions: (asked) => formatOptions(asked, wanted) };
}

/**
 * The model must call a tool in each response, because the last one is a call too. A model that cannot be made to is
 * asked again if it responds with a text.
 */
function choiceFor(
  formats: readonly Format[],
  model: BaseChatModel,
  { tools, toolChoice }: Offer,
): ToolChoice {
  const isOff = toolChoice === "none";
  const force = forceOf(model);
  const [only, ...others] = formats;
  const isOnly = others.length === 0 && (isOff || tools.length === 0);
  if (isOnly && only !== undefined && force !== "nothing")
    return { mode: "required", requiredFunctionName: only.name };
  if (!isOff && toolChoice !== "auto") return toolChoice;
  return force === "any" ? "required" : "auto";
}

/** What the provider lets a request force: any call, a call of a named tool, or nothing. Models that think refuse both. */
function forceOf(model: BaseChatModel): "any" | "named" | "nothing" {
  const client = innermost(model);
  switch (dialectOf(model)) {
    case "anthropic": {
      const thinking: unknown = Reflect.get(client, "thinking");
      return isRecord(thinking) && thinking["type"] !== "disabled" ? "nothing" : "any";
    }
    // DashScope does not know "required".
    case "dashscope":
    case "dashscope-native":
      return Reflect.get(client, "enableThinking") === true ? "nothing" : "named";
    case "deepseek":
      return /reasoner/.test(String(Reflect.get(client, "model"))) ? "nothing" : "any";
    default:
      return "any";
  }
}
