import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { copyMessage } from "../../history/message.js";
import { importOptional } from "../../shared/import-optional.js";
import { viewOf } from "../../shared/views.js";
import { isChatModel, sendingAs } from "../models/model-view.js";
import type { ModelFields, ModelIdentity, Provider } from "../provider.js";
import { REASONING_FIELD, reasoningOf } from "./dialect.js";

export const deepseekProvider: Provider = {
  forcedCall: {
    deepseek: (client) => (/reasoner/.test(String(Reflect.get(client, "model"))) ? "nothing" : "any"),
  },
  models: {
    deepseek: {
      install: "npm install @langchain/deepseek",
      keys: ["DEEPSEEK_API_KEY"],
      baseURL: "DEEPSEEK_BASE_URL",
      dialect: "deepseek",
      create: createDeepSeekModel,
    },
  },
  modelNames: [/^deepseek/i, "deepseek"],
  clients: { deepseek: "deepseek" },
  hosts: [/^api\.deepseek\.com$/, "deepseek"],
  // Small models of other makers were distilled from DeepSeek's: `deepseek-r1-distill-llama-70b`.
  hostedModels: [/^(?!.*distill).*\bdeepseek/i, "deepseek"],
  finishReasons: { interrupted: ["insufficient_system_resource"] },
  mendClient: sendReasoning,
  refusedMedia: [
    // "Failed to deserialize the JSON body into the target type: messages[466]: unknown variant `image_url`, expected
    // `text`" (esengine/DeepSeek-Reasonix#7859)
    "unknown variant `?(?:image_url|input_audio|file|image)`?, expected",
  ],
  otherRefusals: ["Model Not Exist|Insufficient Balance|Content Exists Risk", "Invalid max_tokens value"],
};

/** `ChatDeepSeek` that sends the reasoning of earlier responses back, even when it is used without an agent. */
export async function createDeepSeekModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatDeepSeek } = await importOptional<typeof import("@langchain/deepseek")>("@langchain/deepseek");
  const client = new ChatDeepSeek({
    ...fields,
    ...(baseURL !== undefined && { configuration: { baseURL } }),
  });
  return sendReasoning(client, { dialect: "deepseek", modelId: fields.model });
}

/*
 * OpenAI's client and the clients built on it, such as `ChatDeepSeek`, read `reasoning_content` from a response but
 * never send it. Their converter passes unknown content blocks through. So the reasoning travels from the message to
 * the request as such a block, and there it becomes the field that the host reads.
 */

/**
 * A view of the model that sends the reasoning of earlier responses back, as the model input carries it. Returns the
 * model itself where no host would read it.
 *
 * DeepSeek always gets the reasoning. An unknown host only tells us that it has OpenAI's protocol. Some such hosts
 * serve DeepSeek's thinking mode and demand the field (https://github.com/danny-avila/LibreChat/issues/13366). Others
 * reject it (https://github.com/janhq/jan/issues/8136). An unknown host gets the field if its model is Kimi's by
 * name, or wrote reasoning in this thread. Then each response has the field, possibly empty.
 */
function sendReasoning(model: BaseChatModel, identity: ModelIdentity): BaseChatModel {
  const { dialect, modelId = "" } = identity;
  const isUnknown = dialect === "openai-compatible" && model._llmType() === "openai";
  if (dialect !== "deepseek" && !isUnknown) return model;
  const isDemanded = dialect === "deepseek" || DEMANDING_MODELS.test(modelId);
  const isSent: IsSent = (messages) => isDemanded || messages.some((message) => !!reasoningOf(message));
  // For DeepSeek, the model input has an empty reasoning where it is lost.
  return withReasoning(model, isSent, isUnknown ? "" : undefined);
}

const DEMANDING_MODELS = /\bkimi/i;

type IsSent = (messages: readonly BaseMessage[]) => boolean;

/** @param missing What a response without reasoning gets. Undefined: nothing. */
function withReasoning(model: BaseChatModel, isSent: IsSent, missing: string | undefined): BaseChatModel {
  // `ChatOpenAI` delegates to one of two models. The other one is for the Responses API.
  const completions: unknown = Reflect.get(model, "completions");
  if (isChatModel(completions))
    return viewOf(model, { completions: withReasoning(completions, isSent, missing) });
  const complete: unknown = Reflect.get(model, "completionWithRetry");
  if (typeof complete !== "function") return model;
  const carried = (messages: BaseMessage[]) =>
    isSent(messages) ? messages.map((message) => carryReasoning(message, missing)) : messages;
  return viewOf(model, {
    ...sendingAs(carried, model),
    completionWithRetry(this: BaseChatModel, request: Request, ...rest: readonly unknown[]): unknown {
      const messages = request.messages.map(unpackReasoning);
      return Reflect.apply(complete, this, [{ ...request, messages }, ...rest]);
    },
  });
}

interface Request {
  readonly messages: readonly object[];
}

const CARRIER = "tether_reasoning";

interface Carrier {
  readonly type: typeof CARRIER;
  readonly reasoning: string;
  /** The content, if it was a text. */
  readonly text: string | undefined;
}

/** Puts the reasoning before the content. */
function carryReasoning(message: BaseMessage, missing: string | undefined): BaseMessage {
  const reasoning = reasoningOf(message) ?? (isAIMessage(message) ? missing : undefined);
  if (reasoning === undefined) return message;
  const { content } = message;
  const isText = typeof content === "string";
  if (!isText && content.some(isCarrier)) return message;
  const carrier: Carrier = { type: CARRIER, reasoning, text: isText ? content : undefined };
  return copyMessage(message, { content: isText ? [{ ...carrier }] : [{ ...carrier }, ...content] });
}

function isCarrier(block: unknown): block is Carrier {
  return typeof block === "object" && block !== null && "type" in block && block.type === CARRIER;
}

function unpackReasoning(message: object): object {
  if (!("content" in message) || !Array.isArray(message.content)) return message;
  const carrier = message.content.find(isCarrier);
  if (carrier === undefined) return message;
  const blocks = message.content.filter((block) => block !== carrier);
  return { ...message, content: carrier.text ?? blocks, [REASONING_FIELD]: carrier.reasoning };
}
