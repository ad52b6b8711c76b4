/** How a model is asked without streaming, whatever it was set to. */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { unstreamedMistral } from "../models/clients/unstreamed-mistral.js";
import { partsOf, viewOf } from "../models/model-view.js";

/** Whether a model can stream and may: its maker may have said `streaming: false` or `disableStreaming`. */
export function mayStream(model: BaseChatModel): boolean {
  if (model._streamResponseChunks === BaseChatModel.prototype._streamResponseChunks) return false;
  if (model.disableStreaming) return false;
  // Many clients have a field `streaming` that is false by default, and stream all the same. What was said is here.
  return model.lc_kwargs?.["streaming"] !== false;
}

/**
 * A view of the model that does not stream. With `streaming: true`, `_generate` of the common clients streams too, and
 * OpenAI's downloads a tokenizer to count what it did. A client may be made of others, which have the field as well.
 */
export function unstreamed(model: BaseChatModel): BaseChatModel {
  if (model._llmType() === "mistral_ai") return unstreamedMistral(model);
  if (Reflect.get(model, "streaming") !== true) return model;
  const parts = partsOf(model).map(([field, part]) => [field, unstreamed(part)] as const);
  return viewOf(model, { streaming: false, ...Object.fromEntries(parts) });
}
