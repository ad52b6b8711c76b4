/** Providers that refuse a bad history, and answer with the responses that a test has written out. */

import { createServer } from "node:http";
import { onTestFinished } from "vitest";
import { listen } from "../listen.js";
import type { Fields, RequestCheck } from "./refusal.js";

/** A response, as a stream and in one piece. */
export interface Answer {
  readonly events: readonly Fields[];
  readonly body: object;
}

/** A provider that refuses a bad history. Each accepted request gets the next of these responses. */
export async function serve(check: RequestCheck, answers: readonly Answer[], stored = new Set<string>()) {
  const requests: { readonly path: string; readonly body: Fields }[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const refusal = check(body, stored);
    const answer = answers[requests.length];
    const streams = body.stream === true || path.includes("streamGenerateContent");
    if (refusal === undefined) requests.push({ path, body });
    response.writeHead(refusal?.status ?? 200, {
      "content-type": streams && !refusal ? "text/event-stream" : "application/json",
    });
    if (refusal !== undefined || !streams) response.end(JSON.stringify(refusal?.body ?? answer?.body));
    for (const event of response.writableEnded ? [] : (answer?.events ?? [])) {
      // Anthropic and OpenAI name their events.
      const name = event["type"] === undefined ? "" : `event: ${event["type"]}\n`;
      response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  const { url, stop } = await listen(server);
  onTestFinished(stop);
  return { url, requests };
}

const usage = { input_tokens: 5, output_tokens: 5 };
/** The text of the responses of OpenAI. */
export const TEXT = "Oslo is large.";

/** A response of Anthropic's Messages API with these blocks. */
export function anthropic(content: readonly Fields[], stop_reason = "end_turn"): Answer {
  const head = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5", usage };
  const events = content.flatMap((block, index) => {
    const start = (content_block: object) => ({ type: "content_block_start", index, content_block });
    const delta = (value: object) => ({ type: "content_block_delta", index, delta: value });
    const stop = { type: "content_block_stop", index };
    if (block["type"] === "server_tool_use" || block["type"] === "mcp_tool_use") {
      const pieces = JSON.stringify(block["input"]).match(/.{1,9}/gs) ?? [];
      const deltas = pieces.map((partial_json) => delta({ type: "input_json_delta", partial_json }));
      return [start({ ...block, input: {} }), ...deltas, stop];
    }
    if (block["type"] !== "text") return [start(block), stop];
    const citations = Array.isArray(block["citations"]) ? block["citations"] : [];
    return [
      start({ type: "text", text: "" }),
      delta({ type: "text_delta", text: block["text"] }),
      ...citations.map((citation) => delta({ type: "citations_delta", citation })),
      stop,
    ];
  });
  return {
    body: { ...head, content, stop_reason },
    events: [
      { type: "message_start", message: { ...head, content: [], stop_reason: null } },
      ...events,
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
      { type: "message_stop" },
    ],
  };
}

/** A response of OpenAI's Responses API with these items. */
export function openAI(...output: readonly Fields[]): Answer {
  const total = { ...usage, total_tokens: 10 };
  const body = {
    id: "resp_1",
    object: "response",
    model: "gpt-5",
    status: "completed",
    output,
    usage: total,
  };
  return {
    body,
    events: [
      { type: "response.created", response: { ...body, status: "in_progress", output: [] } },
      ...output.flatMap((item, output_index) => {
        const text = { output_index, content_index: 0, item_id: item["id"], delta: TEXT };
        const input = { output_index, item_id: item["id"], delta: item["input"] };
        const isCustom = item["type"] === "custom_tool_call";
        return [
          {
            type: "response.output_item.added",
            output_index,
            item: isCustom ? { ...item, input: "" } : item,
          },
          ...(isCustom ? [{ type: "response.custom_tool_call_input.delta", ...input }] : []),
          ...(item["type"] === "message" ? [{ type: "response.output_text.delta", ...text }] : []),
          { type: "response.output_item.done", output_index, item },
        ];
      }),
      { type: "response.completed", response: body },
    ],
  };
}

/** A response of Gemini with these parts. */
export function gemini(parts: readonly object[], more: object = {}): Answer {
  const body = {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0, ...more }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 },
  };
  return { body, events: [body] };
}
