import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AsyncCaller } from "@langchain/core/utils/async_caller";
import { viewOf } from "../model-view.js";

/**
 * A view of Mistral's client that does not stream.
 *
 * Its `_generate` streams as soon as it is given a signal or a timeout, of which it makes no other use. And Mistral's
 * own package, where a body is no JSON because a part is missing, rejects a promise that nobody handles, which ends the
 * process: so the body is read before the package sees it.
 */
export function unstreamedMistral(model: BaseChatModel): BaseChatModel {
  const onlyOnce = new AsyncCaller({ maxRetries: 0 });
  const httpClient = { request: readingWhole(Reflect.get(model, "httpClient")) };
  return viewOf(model, {
    streaming: false,
    httpClient,
    _generate(this: BaseChatModel, ...[messages, options, run]: Parameters<BaseChatModel["_generate"]>) {
      const { signal, timeout: _, ...others } = options;
      const generate = () => model._generate.call(this, messages, others, run);
      return onlyOnce.callWithOptions({ ...(signal && { signal }) }, generate);
    },
  });
}

type Send = (request: Request) => Promise<Response>;

/** @param given The `HTTPClient` of Mistral's package that the model was made with, if any. */
function readingWhole(given: { readonly request: Send } | undefined): Send {
  return async (request) => {
    const response = await (given === undefined ? fetch(request) : given.request(request));
    if (!response.ok) return response;
    const body = await response.text();
    JSON.parse(body);
    return new Response(body, response);
  };
}
