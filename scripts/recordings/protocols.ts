/** The protocols of chat models: how one is recognised, where its messages are, and a short response in each. */

import type { Exchange } from "./read-exchanges.js";
import { frameOf } from "./read-exchanges.js";
import { type Fields, isFields, listOf, parsed, textOf } from "./values.js";

export type Protocol = keyof typeof PROTOCOLS;

interface ProtocolFacts {
  /** The path of its requests. */
  readonly path: RegExp;
  /** The field of the request with the messages. */
  readonly messages: string;
  /** Whether a response, or an event of a stream, is one of this protocol. */
  readonly isResponse: (body: Fields) => boolean;
  /** A short final response, in one piece and as a stream. */
  readonly whole: Fields;
  readonly events: readonly Fields[];
}

export const FINAL_TEXT = "That is all.";
const id = "made_up";
const MADE_MODEL = "made-up-model";
const chatUsage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const chat = (object: string, choice: Fields) => ({
  id,
  object,
  created: 1,
  model: MADE_MODEL,
  choices: [{ index: 0, ...choice }],
});
const said = { role: "assistant", content: FINAL_TEXT };

const claudeUsage = { input_tokens: 1, output_tokens: 1 };
const claude = {
  id,
  type: "message",
  role: "assistant",
  model: MADE_MODEL,
  content: [] as unknown[],
  stop_reason: null as string | null,
  usage: claudeUsage,
};
const claudeText = { type: "text", text: FINAL_TEXT };

const outputText = { type: "output_text", text: FINAL_TEXT, annotations: [] };
const outputItem = {
  id: "msg_made_up",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [outputText],
};
const item = { output_index: 0, item_id: outputItem.id, content_index: 0 };
const responseUsage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const response = {
  id: "resp_made_up",
  object: "response",
  created_at: 1,
  model: MADE_MODEL,
  status: "completed",
  error: null,
  output: [outputItem],
  usage: responseUsage,
};

const gemini = {
  candidates: [{ index: 0, content: { role: "model", parts: [{ text: FINAL_TEXT }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
};
const bedrockUsage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

export const PROTOCOLS = {
  chat: {
    path: /\/chat\/completions$|^\/v1\/chat$/,
    messages: "messages",
    isResponse: ({ choices, object }) =>
      (Array.isArray(choices) &&
        choices.some((choice) => isFields(choice) && ("message" in choice || "delta" in choice))) ||
      object === "chat.completion.chunk",
    whole: { ...chat("chat.completion", { message: said, finish_reason: "stop" }), usage: chatUsage },
    events: [
      chat("chat.completion.chunk", { delta: said, finish_reason: null }),
      { ...chat("chat.completion.chunk", { delta: {}, finish_reason: "stop" }), usage: chatUsage },
    ],
  },
  responses: {
    path: /\/responses$/,
    messages: "input",
    isResponse: ({ object, output, type }) =>
      (object === "response" && Array.isArray(output)) || textOf(type).startsWith("response."),
    whole: response,
    events: [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...outputItem, status: "in_progress", content: [] },
      },
      { type: "response.content_part.added", ...item, part: { ...outputText, text: "" } },
      { type: "response.output_text.delta", ...item, delta: FINAL_TEXT },
      { type: "response.output_text.done", ...item, text: FINAL_TEXT },
      { type: "response.output_item.done", output_index: 0, item: outputItem },
      { type: "response.completed", response },
    ].map((event, sequence_number) => ({ ...event, sequence_number })),
  },
  anthropic: {
    path: /\/v1\/messages$/,
    messages: "messages",
    isResponse: ({ type, role }) => (type === "message" && role === "assistant") || type === "message_start",
    whole: { ...claude, content: [claudeText], stop_reason: "end_turn" },
    events: [
      { type: "message_start", message: claude },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: FINAL_TEXT } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ],
  },
  gemini: {
    path: /:(?:streamG|g)enerateContent$/,
    messages: "contents",
    isResponse: ({ candidates, promptFeedback, usageMetadata }) =>
      Array.isArray(candidates) || (usageMetadata !== undefined && promptFeedback !== undefined),
    whole: gemini,
    events: [gemini],
  },
  converse: {
    path: /\/model\/[^/]+\/converse(?:-stream)?$/,
    messages: "messages",
    isResponse: ({ output, stopReason }) =>
      isFields(output) && isFields(output["message"]) && stopReason !== undefined,
    whole: {
      output: { message: { role: "assistant", content: [{ text: FINAL_TEXT }] } },
      stopReason: "end_turn",
      usage: bedrockUsage,
      metrics: { latencyMs: 1 },
    },
    events: [
      { messageStart: { role: "assistant" } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: FINAL_TEXT } } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      { messageStop: { stopReason: "end_turn" } },
      { metadata: { usage: bedrockUsage, metrics: { latencyMs: 1 } } },
    ],
  },
  ollama: {
    path: /\/api\/chat$/,
    messages: "messages",
    isResponse: ({ message, done }) => isFields(message) && typeof done === "boolean",
    whole: {
      model: MADE_MODEL,
      created_at: "2026-01-01T00:00:00Z",
      message: said,
      done: true,
      done_reason: "stop",
      prompt_eval_count: 1,
      eval_count: 1,
    },
    events: [],
  },
  cohere: {
    path: /\/v1\/chat$/,
    messages: "chat_history",
    isResponse: ({ text, generation_id, event_type }) =>
      (typeof text === "string" && generation_id !== undefined) || event_type === "stream-start",
    whole: {
      response_id: id,
      generation_id: id,
      text: FINAL_TEXT,
      chat_history: [],
      finish_reason: "COMPLETE",
      meta: { tokens: claudeUsage },
    },
    events: [
      { is_finished: false, event_type: "stream-start", generation_id: id },
      { is_finished: false, event_type: "text-generation", text: FINAL_TEXT },
      {
        is_finished: true,
        event_type: "stream-end",
        finish_reason: "COMPLETE",
        response: {
          response_id: id,
          generation_id: id,
          text: FINAL_TEXT,
          finish_reason: "COMPLETE",
          meta: { tokens: claudeUsage },
        },
      },
    ],
  },
} as const satisfies Readonly<Record<string, ProtocolFacts>>;

const facts = (protocol: Protocol): ProtocolFacts => PROTOCOLS[protocol];
const NAMES = Object.keys(PROTOCOLS) as Protocol[];

/** The protocol of an exchange. Undefined: it is none of a chat model that a client here speaks. */
export function protocolOf(exchange: Exchange): Protocol | undefined {
  const { url, status } = exchange;
  const [first] = eventsOf(exchange);
  const bodies = first === undefined ? [] : [first, ...eventsOf(exchange).slice(1, 4)];
  const byBody = NAMES.find((name) => bodies.some((body) => facts(name).isResponse(body)));
  if (url === undefined)
    return byBody ?? (status >= 400 ? ofRefusal(first) : isConverseStream(exchange) ? "converse" : undefined);
  if (url.hostname === "api.cohere.com" || url.hostname === "api.cohere.ai")
    return url.pathname === "/v1/chat" ? "cohere" : undefined;
  const byPath = NAMES.find((name) => name !== "cohere" && facts(name).path.test(url.pathname));
  if (byPath === undefined) return undefined;
  return status >= 400 || byPath === "converse" || byBody === byPath || isStream(exchange)
    ? byPath
    : undefined;
}

/** A refusal without its address shows its provider by the form of its error. */
function ofRefusal(body: Fields | undefined): Protocol | undefined {
  const error = body?.["error"];
  if (!isFields(error)) return undefined;
  if (body?.["type"] === "error") return "anthropic";
  if (typeof error["status"] === "string" && typeof error["code"] === "number") return "gemini";
  return typeof error["message"] === "string" ? "chat" : undefined;
}

/** Recorders leave headers out, so the bytes count: a frame begins with its length and the length of its headers. */
export const isConverseStream = ({ type, body }: Exchange) =>
  type.includes("vnd.amazon.eventstream") || (body[0] === 0 && body.subarray(0, 200).includes(":event-type"));

/** Whether the response came in pieces. */
export function isStream(exchange: Exchange): boolean {
  return (
    exchange.type.includes("event-stream") ||
    isConverseStream(exchange) ||
    /^(?:event|data): ?/.test(exchange.body.toString("utf8", 0, 40).trimStart())
  );
}

/** The JSON of the response: its body, or the events of its stream. */
export function eventsOf(exchange: Exchange): Fields[] {
  if (isConverseStream(exchange)) return [];
  const text = exchange.body.toString("utf8");
  const whole = parsed(text);
  if (whole !== undefined) return listOf(Array.isArray(whole) ? whole : [whole]) as Fields[];
  return text.split("\n").flatMap((line) => {
    const event = parsed(line.replace(/^data: ?/, ""));
    return isFields(event) ? [event] : [];
  });
}

/** The model that answered, as its response names it. */
export function answeredModel(exchange: Exchange): string | undefined {
  for (const event of eventsOf(exchange)) {
    const inner = isFields(event["response"])
      ? event["response"]
      : isFields(event["message"])
        ? event["message"]
        : {};
    const name = textOf(event["model"]) || textOf(event["modelVersion"]) || textOf(inner["model"]);
    if (name !== "") return name;
  }
  return undefined;
}

/** How many messages a request has. */
export function countMessages(protocol: Protocol, body: Fields): number {
  const list = body[facts(protocol).messages];
  return Array.isArray(list) ? list.length : list === undefined ? 0 : 1;
}

/** Whether a request asks for a stream. */
export function asksForStream(url: URL, body: Fields): boolean {
  return body["stream"] === true || /:streamGenerateContent$|\/converse-stream$/.test(url.pathname);
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * A short final response, with ids of its own.
 *
 * @param model Who answers.
 */
export function finalAnswer(protocol: Protocol, streamed: boolean, place: number, model: string): Answer {
  const made = JSON.stringify(facts(protocol))
    .replaceAll("made_up", `made_up_${place}`)
    .replaceAll(MADE_MODEL, model);
  const { whole, events } = JSON.parse(made) as ProtocolFacts;
  if (!streamed || protocol === "ollama")
    return { status: 200, type: "application/json", body: Buffer.from(`${JSON.stringify(whole)}\n`) };
  if (protocol === "converse")
    return {
      status: 200,
      type: "application/vnd.amazon.eventstream",
      body: Buffer.concat(events.map(frameOf)),
    };
  if (protocol === "cohere")
    return {
      status: 200,
      type: "application/stream+json",
      body: Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join("")),
    };
  return asEvents(events);
}

/** The recorded response in one piece as a stream of one chunk, for a client that asks for nothing else. */
export function inChunks(whole: Fields): Answer {
  const choices = listOf(whole["choices"]).map(({ message, ...choice }) => {
    const calls = isFields(message) ? listOf(message["tool_calls"]) : [];
    const indexed = calls.map((call, index) => ({ ...call, index }));
    return {
      ...choice,
      delta: { ...(isFields(message) && message), ...(indexed.length > 0 && { tool_calls: indexed }) },
    };
  });
  return asEvents([{ ...whole, object: "chat.completion.chunk", choices }]);
}

function asEvents(events: readonly Fields[]): Answer {
  const text = events.map((event) => {
    const name = typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  return {
    status: 200,
    type: "text/event-stream",
    body: Buffer.from(
      text.join("") + (events.some(({ choices }) => choices !== undefined) ? "data: [DONE]\n\n" : ""),
    ),
  };
}
