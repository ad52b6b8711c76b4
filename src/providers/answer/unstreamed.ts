/** Calls a model without streaming, overriding its settings. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { unstreamedMistral } from "../models/clients/unstreamed-mistral.js";
import { partsOf, viewOf } from "../models/model-view.js";

/** Whether a model can stream and streaming is not off. It is off with `streaming: false` or `disableStreaming`. */
export function mayStream(model: BaseChatModel): boolean {
  if (model._streamResponseChunks === baseOf(model)?._streamResponseChunks) return false;
  if (model.disableStreaming) return false;
  // In many clients the field `streaming` is false by default although they stream. `lc_kwargs` has the user's
  // choice.
  return model.lc_kwargs?.["streaming"] !== false;
}

/**
 * The prototype of LangChain's `BaseChatModel` in the model's own chain, because the model can be one of another copy
 * of LangChain. Its `_streamResponseChunks` only throws. It is the one class that declares `_generateUncached`.
 */
function baseOf(model: BaseChatModel): BaseChatModel | undefined {
  let prototype = Object.getPrototypeOf(model);
  while (prototype !== null && !Object.hasOwn(prototype, "_generateUncached"))
    prototype = Object.getPrototypeOf(prototype);
  return prototype ?? undefined;
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
