import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { viewOf } from "./model-view.js";

type Bound = ReturnType<NonNullable<BaseChatModel["bindTools"]>>;
type Options = Parameters<NonNullable<BaseChatModel["bindTools"]>>[1];

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
