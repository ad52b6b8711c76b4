/**
 * Thought signatures through `ChatGoogle`, over HTTP. Gemini 3 refuses a turn whose first call has none. The client sends
 * the calls of a message from its content only, and stores their signatures in several forms.
 */

import { createServer } from "node:http";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatGoogle } from "@langchain/google/node";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createAgentGraph, toModelInput } from "../../src/index.js";
import { listen } from "../support/listen.js";
import { checkGemini } from "../support/strict-provider/check-gemini.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";

const OWN = "c2ln";
const SENTINEL = "skip_thought_signature_validator";
const MISSING =
  "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.";

interface Part {
  readonly text?: string;
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly name: string; readonly args: object };
}
type Contents = readonly { readonly role: string; readonly parts: readonly Part[] }[];

const callOf = (city: string, signature?: string): Part => ({
  functionCall: { name: "weather", args: { city } },
  ...(signature !== undefined && { thoughtSignature: signature }),
});

/** Gemini 3, which gives these responses in turn. */
async function startGemini(...responses: (readonly Part[])[]) {
  const requests: Contents[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const contents: Contents = body.contents;
    const first = contents.map(({ parts }) => parts.find(({ functionCall }) => functionCall !== undefined));
    const isUnsigned = first.some((part) => part !== undefined && part.thoughtSignature === undefined);
    const refusal =
      checkGemini(body, new Set()) ??
      (isUnsigned && { status: 400, body: { error: { code: 400, message: MISSING } } });
    if (refusal !== false && refusal !== undefined) {
      response.writeHead(refusal.status, { "content-type": "application/json" });
      response.end(JSON.stringify(refusal.body));
      return;
    }
    const parts = responses[requests.length] ?? [];
    requests.push(contents);
    const event = {
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 },
    };
    const isStream = request.url?.includes("streamGenerateContent") === true;
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? `data: ${JSON.stringify(event)}\n\n` : JSON.stringify(event));
  });
  const { url, stop } = await listen(server);
  onTestFinished(() => stop());
  const clientFor = (options: object = {}) =>
    new ChatGoogle({ model: "gemini-3-pro-preview", apiKey: "x", maxRetries: 0, endpoint: url, ...options });
  return { requests, clientFor };
}

const weather = tool(({ city }) => `18 °C in ${city}`, {
  name: "weather",
  schema: z.object({ city: z.string() }),
});

const callsIn = (contents: Contents | undefined) =>
  (contents ?? []).flatMap(({ parts }) =>
    parts.flatMap(({ functionCall, thoughtSignature }) =>
      functionCall === undefined ? [] : [[Object.values(functionCall.args)[0], thoughtSignature]],
    ),
  );

describe.each([
  ["in Google's form", {}],
  ["in the `v1` form", { outputVersion: "v1" }],
])("Signatures %s", (_, options) => {
  it.each([
    ["two calls, of which the first is signed", [callOf("Oslo", OWN), callOf("Rome")]],
    [
      "a thought, a text and a call",
      [{ text: "hm", thought: true }, { text: "I look." }, callOf("Oslo", OWN)],
    ],
    ["one call", [callOf("Oslo", OWN)]],
  ])("are sent back with %s.", async (_title, parts) => {
    const { requests, clientFor } = await startGemini(
      parts,
      [{ text: "Warm.", thoughtSignature: "ZW5k" }],
      [{ text: "Bye." }],
    );
    const model = clientFor(options);
    const graph = createAgentGraph({ model, tools: [weather], checkpointer: new MemorySaver() });
    await graph.invoke(user("The weather?"), inThread("1"));
    const messages = pairedMessagesOf(await graph.invoke(user("Thanks."), inThread("1")));
    expect(messages.at(-1)?.text).toBe("Bye.");
    const sent = parts.flatMap(({ functionCall, thoughtSignature }: Part) =>
      functionCall === undefined ? [] : [[Object.values(functionCall.args)[0], thoughtSignature]],
    );
    expect(callsIn(requests[1])).toEqual(sent);
    expect(callsIn(requests[2])).toEqual(sent);
    expect(requests[2]?.flatMap((content) => content.parts)).toContainEqual({
      text: "Warm.",
      thoughtSignature: "ZW5k",
    });
  });

  it("and thoughts are not sent to another provider.", async () => {
    const parts = [{ text: "secret thought", thought: true }, callOf("Oslo", OWN)];
    const { clientFor } = await startGemini(parts, [{ text: "Warm.", thoughtSignature: "ZW5k" }]);
    const graph = createAgentGraph({ model: clientFor(options), tools: [weather] });
    const { messages } = await graph.invoke(user("The weather?"));
    for (const dialect of ["openai", "openai-responses", "anthropic", "strict"] as const) {
      const input = JSON.stringify(toModelInput(messages, { dialect }));
      expect(input).toContain("Oslo");
      expect(input).not.toMatch(/secret thought|c2ln|ZW5k/);
    }
  });
});

it("A call of another model gets the documented sentinel, and other models of Gemini none.", async () => {
  const history = [
    new HumanMessage("The weather?"),
    new AIMessage({
      content: "I look.",
      tool_calls: [
        { id: "call_1", name: "weather", args: { city: "Oslo" } },
        { id: "call_2", name: "weather", args: { city: "Rome" } },
      ],
      response_metadata: { model_provider: "openai", model_name: "gpt-5" },
    }),
    new ToolMessage({ content: "18 °C", tool_call_id: "call_1" }),
    new ToolMessage({ content: "25 °C", tool_call_id: "call_2" }),
  ];
  const { requests, clientFor } = await startGemini([{ text: "Warm." }]);
  await createAgentGraph({ model: clientFor(), tools: [weather] }).invoke({ messages: history });
  expect(callsIn(requests[0])).toEqual([
    ["Oslo", SENTINEL],
    ["Rome", undefined],
  ]);
});
