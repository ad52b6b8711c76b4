/** Calls a model without streaming, overriding its settings. */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { unstreamedMistral } from "../models/clients/unstreamed-mistral.js";
import { partsOf, viewOf } from "../models/model-view.js";

/** Whether a model can stream and streaming is not off. It is off with `streaming: false` or `disableStreaming`. */
export function mayStream(model: BaseChatModel): boolean {
  if (model._streamResponseChunks === BaseChatModel.prototype._streamResponseChunks) return false;
  if (model.disableStreaming) return false;
  // In many clients the field `streaming` is false by default although they stream. `lc_kwargs` has the user's
  // choice.
  return model.lc_kwargs?.["streaming"] !== false;
}

/**
 * A view of the model that does not stream. With `streaming: true`, `_generate` of the common clients streams too,
 * and OpenAI's client downloads a tokenizer to count tokens. A client can contain other clients with the same field.
 */
export function unstreamed(model: BaseChatModel): BaseChatModel {
  if (model._llmType() === "mistral_ai") return unstreamedMistral(model);
  if (Reflect.get(model, "streaming") !== true) return model;
  const parts = partsOf(model).map(([field, part]) => [field, unstreamed(part)] as const);
  return viewOf(model, { streaming: false, ...Object.fromEntries(parts) });
}
