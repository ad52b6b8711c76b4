import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { viewOf } from "../model-view.js";

/**
 * A view of Gemini's client whose broken streams do not end the process. Returns any other model unchanged.
 *
 * Google's package returns the stream together with a promise of the complete response. The client drops the promise.
 * When the stream breaks, nobody handles the promise's rejection.
 */
export function catchGeminiResponse(model: BaseChatModel): BaseChatModel {
  if (model._llmType() !== "googlegenerativeai") return model;
  const client: unknown = Reflect.get(model, "client");
  if (typeof client !== "object" || client === null) return model;
  const generate: unknown = Reflect.get(client, "generateContentStream");
  if (typeof generate !== "function") return model;
  const generateContentStream = async (...request: readonly unknown[]): Promise<Generated> => {
    const generated: Generated = await Reflect.apply(generate, client, request);
    generated.response.catch(() => {});
    return generated;
  };
  return viewOf(model, { client: viewOf(client, { generateContentStream }) });
}

interface Generated {
  readonly response: Promise<unknown>;
}
