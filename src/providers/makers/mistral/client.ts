/** Mistral's clients. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AsyncCaller } from "@langchain/core/utils/async_caller";
import { importOptional } from "../../../shared/import-optional.js";
import { viewOf } from "../../../shared/views.js";
import type { ModelFields, Provider } from "../../contract/provider.js";
import { closed, isStrict } from "../../contract/response-format.js";

export const mistralProvider: Provider = {
  models: {
    mistralai: {
      install: "npm install @langchain/mistralai",
      keys: ["MISTRAL_API_KEY"],
      baseURL: "MISTRAL_BASE_URL",
      dialect: "mistral",
      create: createMistralModel,
    },
  },
  modelNames: [/^(mistral|ministral|codestral|magistral)/i, "mistralai"],
  finishReasons: { limit: ["model_length"], interrupted: ["error"] },
  // The client passes its option to Mistral's SDK, which has names in camel case.
  formats: {
    mistral: {
      options: ({ name, description, jsonSchema, strict = isStrict(jsonSchema) }) => {
        const schema = { name, description, schemaDefinition: closed(jsonSchema), strict };
        return { response_format: { type: "json_schema", jsonSchema: schema } };
      },
    },
  },
  // "Extra inputs are not permitted" (charmbracelet/crush/issues/1590)
  hostFields: [{ host: /\.mistral\.ai$/, accepts: [] }],
  correctClient: endWithSignal,
  refusedMedia: [
    // Code 3051: "Image input is not enabled for this model" (Huan-zhaojun/mistral-bridge, its
    // report on the API)
    "Image input is not enabled",
  ],
  // Status 400: "Prompt contains 300000 tokens, too large for model with 131072 maximum context length"
  overflow: ["Prompt contains <input> tokens.{0,40}?too large for model with <limit> maximum context length"],
};

/**
 * `ChatMistralAI` that retries as its fields say. The client makes a new `AsyncCaller` with default retries for each
 * request. That caller is told not to retry, and the model's own caller is used.
 */
async function createMistralModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatMistralAI } =
    await importOptional<typeof import("@langchain/mistralai")>("@langchain/mistralai");

  class CallerChatMistralAI extends ChatMistralAI {
    override maxRetries = 0;

    // The method has one signature for streams and one for complete responses. `never` fits both.
    override completionWithRetry(input: never, streaming: never): never {
      return this.caller.call(() => super.completionWithRetry(input, streaming)) as never;
    }
  }

  return new CallerChatMistralAI({ ...fields, ...(baseURL !== undefined && { serverURL: baseURL }) });
}

/**
 * A view of Mistral's client whose requests end when their signal aborts, and whose `_generate` does not stream.
 * Returns any other model unchanged.
 *
 * The client does not pass a signal on. Its `_generate` streams whenever it gets a signal or a timeout, and does
 * nothing else with them. Mistral's package has another fault: if a body is cut and not valid JSON, it rejects a
 * promise that nobody handles, which ends the process. So the body is read before the package gets it. All up to
 * `@langchain/mistralai` 1.2.0 and `@mistralai/mistralai` 2.2.1 at least. It streams since
 * https://github.com/langchain-ai/langchainjs/pull/4843
 */
function endWithSignal(model: BaseChatModel): BaseChatModel {
  if (model._llmType() !== "mistral_ai") return model;
  return viewOf(model, {
    _generate(this: BaseChatModel, ...[messages, options, run]: Parameters<BaseChatModel["_generate"]>) {
      const { signal, timeout: _, ...others } = options;
      const onlyOnce = new AsyncCaller({ maxRetries: 0 });
      const httpClient = { request: readingWhole(sendingUntil(signal, model)) };
      const client = viewOf(this, { streaming: false, httpClient });
      const generate = () => model._generate.call(client, messages, others, run);
      return onlyOnce.callWithOptions({ ...(signal && { signal }) }, generate);
    },
    _streamResponseChunks(
      this: BaseChatModel,
      ...[messages, options, run]: Parameters<BaseChatModel["_streamResponseChunks"]>
    ) {
      const client = viewOf(this, { httpClient: { request: sendingUntil(options.signal, model) } });
      return model._streamResponseChunks.call(client, messages, options, run);
    },
  });
}

type Send = (request: Request) => Promise<Response>;

/** Sends with the `HTTPClient` of Mistral's package that the model was made with, if any. */
function sendingUntil(signal: AbortSignal | undefined, model: object): Send {
  const given: { readonly request: Send } | undefined = Reflect.get(model, "httpClient");
  return (request) => {
    const ending = signal === undefined ? request : new Request(request, { signal });
    return given === undefined ? fetch(ending) : given.request(ending);
  };
}

function readingWhole(send: Send): Send {
  return async (request) => {
    const response = await send(request);
    if (!response.ok) return response;
    const body = await response.text();
    JSON.parse(body);
    return new Response(body, response);
  };
}
