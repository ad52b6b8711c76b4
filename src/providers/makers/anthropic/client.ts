/** Anthropic's clients. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { isAIMessage } from "../../../history/call.js";
import { copyMessage, mapBlocks } from "../../../history/message.js";
import {
  callerIdOf,
  hasOpenServerCall,
  serverCallId,
  serverResultId,
} from "../../../history/server-tools.js";
import { asText, parseJson } from "../../../shared/json.js";
import { isRecord, recordsIn, textIn } from "../../../shared/values.js";
import { viewOf } from "../../../shared/views.js";
import type { Fields } from "../../contract/dialect.js";
import { callFieldsIn } from "../../contract/model-view.js";
import { byLangChain, type PromptCacheMarks, type Provider } from "../../contract/provider.js";
import { closed, isStrict, type Json, schemasIn } from "../../contract/response-format.js";

type Options = Parameters<BaseChatModel["_generate"]>[1];
type Rest = [runManager?: Parameters<BaseChatModel["_generate"]>[2]];

/** https://docs.claude.com/en/docs/build-with-claude/prompt-caching */
const MARK = { cache_control: { type: "ephemeral" } } as const;

const CACHE_MARKS: PromptCacheMarks = {
  isMarked: (part) => [part, Reflect.get(part, "extras"), Reflect.get(part, "content")].flat().some(hasMark),
  tools: (tools) => tools.map((tool, index) => (index === tools.length - 1 ? markTool(tool) : tool)),
  messages: (messages) => {
    const talk = messages.findIndex(({ type }) => type !== "system");
    const last = (talk < 0 ? messages.length : talk) - 1;
    return messages.map((message, index) => (index === last ? markSystem(message) : message));
  },
  parameters: MARK,
};

export const anthropicProvider: Provider = {
  models: {
    anthropic: byLangChain("anthropic", {
      package: "@langchain/anthropic",
      keys: ["ANTHROPIC_API_KEY"],
      baseURL: "ANTHROPIC_BASE_URL",
      baseURLField: "anthropicApiUrl",
      dialect: "anthropic",
    }),
  },
  modelNames: [/^claude/i, "anthropic"],
  finishReasons: {
    done: ["end_turn", "stop_sequence"],
    calls: ["tool_use"],
    limit: ["max_tokens", "model_context_window_exceeded"],
    withheld: ["refusal"],
    paused: ["pause_turn"],
  },
  finishFields: ["stop_reason"],
  // `{ type: "refusal", category, explanation }`
  refusalIn: ({ response_metadata, additional_kwargs }) => {
    const details = [response_metadata, additional_kwargs].map((fields) => Object(fields)["stop_details"]);
    const found = details.find((each) => textIn(each, "type") === "refusal");
    return found && { text: textIn(found, "explanation") ?? "", category: textIn(found, "category") };
  },
  refusedMedia: [
    // "messages.0.content.0.image.source.base64: Could not process image" (anthropics/claude-code#8646, without the place);
    // "Could not process PDF" (anthropics/anthropic-sdk-python#903)
    "Could not process (?:image|PDF)",
    // "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes"
    // (anthropics/claude-code#19631)
    "image exceeds [\\d.]+ [KM]B maximum",
    // "messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000
    // pixels" (anthropics/claude-code#4778)
    "image dimensions exceed max allowed size",
    // "messages.2.content.0.image.source.base64.data: Image does not match the provided media type image/png"
    // (anthropics/claude-code#6300)
    "Image does not match the provided media type",
    // "messages.10.content.3.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or
    // 'image/webp'" (anomalyco/opencode#5704)
    "Input should be 'image/",
    // "messages.118.content.4.image.source.base64: image cannot be empty" (anthropics/claude-code#12750); "...: invalid
    // base64 data" (anthropics/anthropic-sdk-typescript#603)
    "source\\.base64[\\w.]{0,40}: (?:invalid base64|image cannot be empty)",
    // "messages.2.content.0.pdf.source.base64.data: The PDF specified was not valid." (anthropics/claude-code#5174); "A maximum
    // of 100 PDF pages may be provided." (anthropics/claude-code#6231)
    "PDF specified was not valid|maximum of \\d+ PDF pages",
  ],
  tooMany: {
    pictures: [
      // "Too much media: 0 document pages + 103 images > 100" (anthropics/claude-code#3397)
      "Too much media: [^>]{0,80}> <most>",
    ],
    // "A maximum of 4 blocks with cache_control may be provided. Found 5." (tghamm/Anthropic.SDK#50)
    marks: ["maximum of <most> blocks with cache_control"],
  },
  forcedCall: {
    anthropic: (client) => {
      const thinking: unknown = Reflect.get(client, "thinking");
      return isRecord(thinking) && thinking["type"] !== "disabled" ? "nothing" : "any";
    },
  },
  formats: {
    anthropic: {
      options: ({ jsonSchema }) => ({
        outputConfig: { format: { type: "json_schema", schema: closed(jsonSchema) } },
      }),
      isKept: ({ jsonSchema }) => isStrict(jsonSchema) && !usesBounds(jsonSchema),
    },
  },
  tools: {
    maker: "Anthropic",
    dialects: ["anthropic"],
    // Their types end with a date.
    isOwn: ({ type }) => typeof type === "string" && /_\d{8}$|^mcp_toolset$/.test(type),
  },
  promptCache: { anthropic: CACHE_MARKS },
  // https://platform.claude.com/docs/en/build-with-claude/prompt-caching#what-invalidates-the-cache
  cachesToolChoice: ["anthropic", "anthropic-openai"],
  correctClient: keepBlocks,
  correctResponse: wholeInputs,
  overflow: [
    // Status 400: "prompt is too long: 208310 tokens > 200000 maximum" (anthropics/claude-code#12186)
    "prompt is too long(?:: <input> tokens > <limit> maximum)?",
    // "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or
    // `max_tokens` and try again" (docker/docker-agent#569)
    "input length and `?max_tokens`? exceed context limit: <input> \\+ <output> > <limit>",
  ],
};

/**
 * A view of Anthropic's client that names open calls' container, and loses nothing of a response. Returns any other
 * model unchanged.
 *
 * The client streams the input of a tool that Anthropic runs like a call's arguments, but without the call's id and
 * name. Joined, they are an invalid call of a nameless tool, and the block itself is sent back without input. The client
 * drops blocks with an unknown type, in streams and in requests: most results, and calls of MCP servers. It does not
 * send the caller of a call that is only listed. All up to `@langchain/anthropic` 1.5.11 at least. For results of
 * `web_fetch`: https://github.com/langchain-ai/langchainjs/pull/11064. For the caller:
 * https://github.com/langchain-ai/langchainjs/pull/10014
 */
function keepBlocks(model: BaseChatModel): BaseChatModel {
  const open: unknown = Reflect.get(model, "createStreamWithRetry");
  const complete: unknown = Reflect.get(model, "completionWithRetry");
  if (model._llmType() !== "anthropic" || typeof open !== "function" || typeof complete !== "function")
    return model;
  return viewOf(model, {
    _generate(this: BaseChatModel, messages: BaseMessage[], options: Options, ...more: Rest) {
      const sending = viewOf(this, {
        completionWithRetry: (request: Fields, ...rest: unknown[]) =>
          complete.call(this, withBlocks(request, messages), ...rest),
      });
      return model._generate.call(sending, messages.map(wrapped), inContainer(messages, options), ...more);
    },
    async *_streamResponseChunks(
      this: BaseChatModel,
      messages: BaseMessage[],
      options: Options,
      ...more: Rest
    ): AsyncGenerator<ChatGenerationChunk> {
      /** The type of each block whose input is not that of a caller's call, by index. */
      const calls = new Map<unknown, string>();
      /** Blocks that have come but that the client has not streamed yet, by index. */
      const waiting = new Map<unknown, Fields>();
      const watched = viewOf(this, {
        createStreamWithRetry: async (request: Fields, ...rest: unknown[]) =>
          watch(await open.call(this, withBlocks(request, messages), ...rest), (index, block) => {
            const type = asText(block["type"]);
            // The client always streams these.
            if (type === "text" || type === "tool_use") return;
            if (block["input"] !== undefined) calls.set(index, type);
            waiting.set(index, block);
          }),
      });
      const asked = model._streamResponseChunks.call(
        watched,
        messages.map(wrapped),
        inContainer(messages, options),
        ...more,
      );
      for await (const chunk of asked) {
        for (const { index, type } of recordsIn(chunk.message.content))
          if (waiting.get(index)?.["type"] === type) waiting.delete(index);
        for (const [index, block] of waiting) yield chunkOf({ ...block, index }, calls.has(index));
        waiting.clear();
        yield withInputInBlock(calls, chunk);
      }
    },
  });
}

/** The client sends blocks of this type as they are. It is unwrapped in the request. */
const WRAPPING = "container_upload";
const WRAPPED = "tether_block";

/** The message with each block of a tool that Anthropic runs in a form that the client does not drop. */
function wrapped(message: BaseMessage): BaseMessage {
  // In LangChain's `v1` form, the client writes them itself.
  if (!isAIMessage(message) || message.response_metadata?.["output_version"] === "v1") return message;
  return mapBlocks(message, (block) =>
    isServerBlock(block) ? { type: WRAPPING, [WRAPPED]: asSent(block) } : block,
  );
}

function isServerBlock(block: unknown): boolean {
  return (serverCallId(block) ?? serverResultId(block)) !== undefined;
}

/** A stream numbers the blocks, and has their input as a text. */
function asSent({ index: _, ...block }: Fields): Fields {
  const { input } = block;
  return typeof input === "string" ? { ...block, input: parseJson(input) ?? {} } : block;
}

/** The request with these blocks unwrapped, and with the caller of each call. */
function withBlocks(request: Fields, messages: readonly BaseMessage[]): Fields {
  const callers = callFieldsIn(messages, ["caller"]);
  return {
    ...request,
    messages: recordsIn(request["messages"]).map((message) => {
      const { content } = message;
      if (message["role"] !== "assistant" || !Array.isArray(content)) return message;
      return {
        ...message,
        content: content.map((block) => {
          if (!isRecord(block)) return block;
          if (WRAPPED in block) return block[WRAPPED];
          if (block["type"] !== "tool_use") return block;
          const given = callers(block["id"]);
          // Code that called it waits only for a block that is as the code has left it.
          return callerIdOf(given) === undefined ? { ...given, ...block } : block;
        }),
      };
    }),
  };
}

/**
 * A stream's message with the whole input in each block. The client leaves it beside the block in pieces, or as a text.
 */
function wholeInputs(message: AIMessageChunk): AIMessageChunk {
  const { content } = message;
  if (!Array.isArray(content) || !content.some(({ type }) => type === "input_json_delta")) return message;
  const pieces = new Map(
    recordsIn(content).flatMap(({ type, index, input }) =>
      type === "input_json_delta" ? [[index, asText(input)] as const] : [],
    ),
  );
  const whole = content.flatMap((block): typeof content => {
    if (block.type === "input_json_delta") return [];
    const input = block["input"] === "" ? parseJson(pieces.get(block["index"]) ?? "") : undefined;
    return [input === undefined ? block : { ...block, input }];
  });
  return copyMessage(message, { content: whole });
}

/**
 * The options with the container in which the last response's code waits for results. Anthropic refuses these results
 * without it: https://github.com/anthropics/anthropic-sdk-typescript/issues/1114
 */
function inContainer(messages: readonly BaseMessage[], options: Options): Options {
  const last = messages.findLast(isAIMessage);
  if (last === undefined || !hasOpenServerCall(last)) return options;
  const container = textIn(last.additional_kwargs["container"], "id");
  return container === undefined ? options : Object.assign({ container }, options);
}

interface EventStream extends AsyncIterable<unknown> {
  readonly controller: AbortController;
}

/** The same event stream. It reports each block that begins. */
function watch(stream: EventStream, begins: (index: unknown, block: Fields) => void): EventStream {
  return {
    controller: stream.controller,
    async *[Symbol.asyncIterator]() {
      for await (const event of stream) {
        if (isRecord(event) && event["type"] === "content_block_start" && isRecord(event["content_block"]))
          begins(event["index"], event["content_block"]);
        yield event;
      }
    },
  };
}

function chunkOf(block: Fields, isCall: boolean): ChatGenerationChunk {
  const content = [{ ...block, ...(isCall && { input: "" }) }] as AIMessageChunk["content"];
  return new ChatGenerationChunk({ text: "", message: new AIMessageChunk({ content }) });
}

function withInputInBlock(
  calls: ReadonlyMap<unknown, string>,
  chunk: ChatGenerationChunk,
): ChatGenerationChunk {
  const message = chunk.message as AIMessageChunk;
  const pieces = (message.tool_call_chunks ?? []).filter(({ index }) => calls.has(index));
  if (pieces.length === 0) return chunk;
  // This client's chunks have a piece of only one block.
  const content = pieces.map(({ index, args }) => ({ index, type: calls.get(index), input: args }));
  const none = { tool_call_chunks: [], tool_calls: [], invalid_tool_calls: [] };
  const plain = copyMessage(message, { ...none, content: content as AIMessageChunk["content"] });
  const { text, generationInfo } = chunk;
  return new ChatGenerationChunk({ text, message: plain, ...(generationInfo && { generationInfo }) });
}

/** Keywords that Anthropic refuses. */
const BOUNDS =
  /^(?:minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf|minLength|maxLength|maxItems)$/;

function usesBounds(schema: Json): boolean {
  return schemasIn(schema).some((part) => Object.keys(part).some((keyword) => BOUNDS.test(keyword)));
}

function hasMark(value: unknown): boolean {
  return isRecord(value) && "cache_control" in value;
}

function markSystem(message: BaseMessage): BaseMessage {
  const blocks: Record<string, unknown>[] =
    typeof message.content === "string" ? [{ type: "text", text: message.content }] : [...message.content];
  const last = blocks.at(-1);
  if (last === undefined) return message;
  const content = [...blocks.slice(0, -1), { ...MARK, ...last }];
  return new SystemMessage({ content: content as SystemMessage["content"] });
}

/** OpenAI's form for tools has no place for a mark. */
function markTool(tool: BindToolsInput): BindToolsInput {
  if ("input_schema" in tool) return { ...MARK, ...tool };
  if (!("schema" in tool)) return tool;
  const extras: unknown = Reflect.get(tool, "extras");
  return viewOf(tool, { extras: { ...MARK, ...(isRecord(extras) && extras) } });
}
