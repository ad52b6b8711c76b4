/** The request of a thread as the clients of providers send it, to make it again elsewhere. */

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { createGraphStore } from "../../src/doctor.js";
import { createInspector } from "../../src/inspector.js";
import { FunctionModel } from "../support/models.js";
import { inThread } from "../support/thread.js";

const TEXT = 'It\'s "warm"\nJSON\n$(date) `date` \\';

async function opened() {
  const { graph } = createAgent({
    model: new FunctionModel(() => "yes"),
    tools: [],
    checkpointer: new MemorySaver(),
  });
  const calls = [{ id: "c1", name: "weather", args: { city: "Rome" }, type: "tool_call" as const }];
  const response_metadata = { model_provider: "openai", model_name: "gpt-4o-mini" };
  await graph.updateState(
    inThread("1"),
    {
      messages: [
        new HumanMessage("Is it warm?"),
        new AIMessage({ content: "", tool_calls: calls, response_metadata }),
        new ToolMessage({ tool_call_id: "c1", name: "weather", content: TEXT }),
      ],
    },
    "model_request",
  );
  const inspector = createInspector({ threads: createGraphStore({ graph, quietMs: 0 }), isProtected: true });
  return async (query: string) => {
    const response = await inspector(new Request(`http://localhost/tether/threads/1?${query}`));
    return { status: response.status, text: await response.text() };
  };
}

it("is what the client of OpenAI sends, and the tools that it calls by their names", async () => {
  const { status, text } = await (await opened())("as=wire");
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    model: "gpt-4o-mini",
    messages: [
      { role: "user", content: "Is it warm?" },
      { role: "assistant", tool_calls: [{ id: "c1", function: { name: "weather" } }] },
      { role: "tool", tool_call_id: "c1", content: TEXT },
      { role: "user", content: "…" },
    ],
    tools: [{ function: { name: "weather" } }],
  });
});

it.each([
  ["openai", "$OPENAI_BASE_URL/chat/completions", "authorization: Bearer $OPENAI_API_KEY"],
  ["anthropic", "$ANTHROPIC_BASE_URL/v1/messages", "x-api-key: $ANTHROPIC_API_KEY"],
  ["gemini", "$GOOGLE_BASE_URL/v1beta/models/MODEL:generateContent", "x-goog-api-key: $GOOGLE_API_KEY"],
  ["mistral", "$MISTRAL_BASE_URL/v1/chat/completions", "authorization: Bearer $MISTRAL_API_KEY"],
  ["deepseek", "$DEEPSEEK_BASE_URL/chat/completions", "authorization: Bearer $DEEPSEEK_API_KEY"],
])("is a command for %s, with variables for what is secret", async (dialect, address, key) => {
  const ask = await opened();
  const { text } = await ask(`as=curl&dialect=${dialect}&with=tether`);
  const [head = "", body = ""] = text.split("<<'JSON'\n");
  expect(head).toContain(`curl "${address}"`);
  expect(head).toContain(`-H "${key}"`);
  expect(head).not.toMatch(/127\.0\.0\.1|cookie|user-agent|tether-key/);
  const sent = JSON.parse(body.slice(0, body.lastIndexOf("JSON")));
  expect(body.split("\n").filter((line) => line === "JSON")).toHaveLength(1);
  expect(JSON.stringify(sent)).toContain(JSON.stringify(TEXT).slice(1, -1));
  expect(sent).toEqual(JSON.parse((await ask(`as=wire&dialect=${dialect}&with=tether`)).text));
});

it("is not made up for a client that cannot show it", async () => {
  expect(await (await opened())("as=curl&dialect=bedrock")).toMatchObject({ status: 404 });
});
