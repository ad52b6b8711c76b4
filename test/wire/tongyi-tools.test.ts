/** Tongyi over DashScope's native protocol: the client sends tools and joins streamed chunks. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { concat } from "@langchain/core/utils/stream";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createModel } from "../../src/providers/models/create-model.js";

/** DashScope sends the id and the name only with the first chunk, and empty ones after it. */
const PIECES = [
  { index: 0, id: "call_7", type: "function", function: { name: "weather", arguments: "" } },
  { index: 0, id: "", type: "function", function: { arguments: '{"city":' } },
  { index: 0, id: "", type: "function", function: { arguments: '"Oslo"}' } },
];

it("Tongyi calls a tool over DashScope's native protocol.", async () => {
  let request = "";
  const server = createServer(async (incoming, response) => {
    for await (const chunk of incoming) request += chunk;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [index, piece] of PIECES.entries()) {
      const finish_reason = index === PIECES.length - 1 ? "tool_calls" : "null";
      const message = { role: "assistant", content: "", tool_calls: [piece] };
      response.write(
        `data:${JSON.stringify({ request_id: "r", output: { choices: [{ finish_reason, message }] } })}\n\n`,
      );
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const environment = {
    ALIBABA_API_KEY: "test-key",
    DASHSCOPE_API_URL: `http://127.0.0.1:${port}/generation`,
  };
  const model = await createModel("tongyi:qwen-max", { environment });
  const weather = tool(() => "sunny", {
    name: "weather",
    description: "Weather.",
    schema: z.object({ city: z.string() }),
  });
  let whole = new AIMessageChunk("");
  for await (const chunk of (await model.bindTools?.([weather]).stream([new HumanMessage("Oslo?")])) ?? [])
    whole = concat(whole, chunk);
  expect(whole.tool_calls).toEqual([
    { type: "tool_call", id: "call_7", name: "weather", args: { city: "Oslo" } },
  ]);
  expect(JSON.parse(request).parameters).toMatchObject({
    incremental_output: true,
    result_format: "message",
  });
});

it("A character that the network splits arrives intact.", async () => {
  const data = {
    request_id: "r",
    output: { choices: [{ finish_reason: "stop", message: { content: "天气" } }] },
  };
  const bytes = Buffer.from(`data:${JSON.stringify(data)}\n\n`);
  const middle = bytes.indexOf("天") + 1;
  const server = createServer(async (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(bytes.subarray(0, middle));
    await delay(20);
    response.end(bytes.subarray(middle));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const environment = { ALIBABA_API_KEY: "test-key", DASHSCOPE_API_URL: `http://127.0.0.1:${port}` };
  const model = await createModel("tongyi:qwen-max", { environment });
  let text = "";
  for await (const chunk of await model.stream("x")) text += chunk.text;
  expect(text).toBe("天气");
});
