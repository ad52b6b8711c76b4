import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { viewOf } from "./model-view.js";

type Bound = ReturnType<NonNullable<BaseChatModel["bindTools"]>>;
type Options = Parameters<NonNullable<BaseChatModel["bindTools"]>>[1];

/** By model, by the list of tools, and by the choice. A client converts the schemas of its tools each time. */
const known = new WeakMap<BaseChatModel, WeakMap<readonly BindToolsInput[], Map<unknown, Bound>>>();

/** The same as {@link bindTools}, made once for each model and list of tools. The list must not change. */
export function bindToolsOnce(
  model: BaseChatModel,
  tools: readonly BindToolsInput[],
  toolChoice: string | undefined,
): Bound | undefined {
  const ofModel = known.get(model) ?? new WeakMap<readonly BindToolsInput[], Map<unknown, Bound>>();
  known.set(model, ofModel);
  const ofTools = ofModel.get(tools) ?? new Map<unknown, Bound>();
  ofModel.set(tools, ofTools);
  const bound =
    ofTools.get(toolChoice) ??
    bindTools(model, tools, toolChoice === undefined ? {} : { tool_choice: toolChoice });
  if (bound !== undefined) ofTools.set(toolChoice, bound);
  return bound;
}

/**
 * The model with tools; undefined if it cannot call tools. `withConfig` puts a binding around a model, which has no
 * `bindTools`. There the model inside gets the tools, and the binding stays around it.
 */
export function bindTools(
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
