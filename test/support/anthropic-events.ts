/** Responses of Anthropic's Messages API, as a stream or in one piece. */

import { createServer } from "node:http";
import { onTestFinished } from "vitest";
import type { Events } from "./event-server.js";
import { listen } from "./listen.js";
import { checkAnthropic } from "./strict-provider/check-anthropic.js";

export type AnthropicBlock = Readonly<Record<string, unknown>>;

const usage = { input_tokens: 5, output_tokens: 5 };
const head = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5", usage };

/** The events of a response with these blocks. */
export function anthropicEvents(blocks: readonly AnthropicBlock[], stop_reason = "end_turn"): Events {
  return [
    { type: "message_start", message: { ...head, content: [], stop_reason: null } },
    ...blocks.flatMap((block, index) => {
      const start = (content_block: object) => ({ type: "content_block_start", index, content_block });
      const delta = (value: object) => ({ type: "content_block_delta", index, delta: value });
      const stop = { type: "content_block_stop", index };
      if (block["type"] === "server_tool_use" || block["type"] === "mcp_tool_use")
        return [
          start({ ...block, input: {} }),
          ...(JSON.stringify(block["input"]).match(/.{1,9}/gs) ?? []).map((partial_json) =>
            delta({ type: "input_json_delta", partial_json }),
          ),
          stop,
        ];
      if (block["type"] !== "text") return [start(block), stop];
      const citations = Array.isArray(block["citations"]) ? block["citations"] : [];
      return [
        start({ type: "text", text: "" }),
        delta({ type: "text_delta", text: block["text"] }),
        ...citations.map((citation) => delta({ type: "citations_delta", citation })),
        stop,
      ];
    }),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
}

/** Anthropic's API, which refuses a bad history. Each accepted request gets the next of these responses. */
export async function startAnthropic(...responses: (readonly AnthropicBlock[])[]) {
  const requests: { messages: readonly { role: string; content: unknown }[] }[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const refusal = checkAnthropic(body, new Set());
    if (refusal !== undefined) {
      response.writeHead(refusal.status, { "content-type": "application/json" });
      response.end(JSON.stringify(refusal.body));
      return;
    }
    const content = responses[requests.length] ?? [];
    requests.push(body);
    response.writeHead(200, { "content-type": body.stream ? "text/event-stream" : "application/json" });
    if (body.stream)
      for (const event of anthropicEvents(content))
        response.write(`event: ${event["type"]}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end(body.stream ? "" : JSON.stringify({ ...head, content, stop_reason: "end_turn" }));
  });
  const { url, stop } = await listen(server);
  onTestFinished(stop);
  return { url, requests };
}
