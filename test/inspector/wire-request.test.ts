/** The request of a thread as the clients of providers send it, to make it again elsewhere. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { createGraphStore } from "../../src/doctor.js";
import { createInspector } from "../../src/inspector.js";
import { FunctionModel } from "../support/models.js";
import { inThread } from "../support/thread.js";

const TEXT = 'It\'s "warm"\nJSON\n$(date) `date` \\';

const OPENAI = { model_provider: "openai", model_name: "gpt-4o-mini" };

async function opened(response_metadata = OPENAI) {
  const { graph } = createAgent({
    model: new FunctionModel(() => "yes"),
    tools: [],
    checkpointer: new MemorySaver(),
  });
  const calls = [{ id: "c1", name: "weather", args: { city: "Rome" }, type: "tool_call" as const }];
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

/** What `curl` gets if the command is run in a shell: its words, and its input. */
async function runInShell(command: string) {
  const program = `curl() { printf '%s\\0' "$@"; cat; }\n${command}`;
  const variables = ["OPENAI", "ANTHROPIC", "GOOGLE", "MISTRAL", "DEEPSEEK"].flatMap((name) => [
    [`${name}_BASE_URL`, "the-base"],
    [`${name}_API_KEY`, "the key"],
  ]);
  const env = { ...process.env, ...Object.fromEntries(variables) };
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", program], { env });
  const words = stdout.split("\0");
  return { stderr, words: words.slice(0, -1), body: JSON.parse(words.at(-1) ?? "") };
}

const HOSTILE_MODEL = "gpt-$(echo ran >&2)`echo ran >&2`'\"!";

it.each([
  ["openai", "the-base/chat/completions", "authorization: Bearer the key"],
  ["anthropic", "the-base/v1/messages", "x-api-key: the key"],
  [
    "gemini",
    expect.stringMatching(/^the-base\/v1beta\/models\/.*:generateContent$/),
    "x-goog-api-key: the key",
  ],
  ["mistral", "the-base/v1/chat/completions", "authorization: Bearer the key"],
  ["deepseek", "the-base/chat/completions", "authorization: Bearer the key"],
])("is a command for %s, which runs nothing of what messages say", async (dialect, address, key) => {
  const ask = await opened({ model_provider: MAKERS[dialect] ?? dialect, model_name: HOSTILE_MODEL });
  const { text } = await ask("as=curl&with=tether");
  expect(text).not.toMatch(/127\.0\.0\.1|cookie|user-agent|tether-key/);
  const { stderr, words, body } = await runInShell(text);
  expect([stderr, words[0]]).toEqual(["", address]);
  expect(words).toContain(key);
  expect(JSON.stringify(body)).toContain(JSON.stringify(TEXT).slice(1, -1));
  expect(body).toEqual(JSON.parse((await ask("as=wire&with=tether")).text));
});

/** Their names in LangChain's metadata. */
const MAKERS: Readonly<Record<string, string>> = { gemini: "google-genai", mistral: "mistralai" };

it("is not made up for a client that cannot show it", async () => {
  const ask = await opened();
  expect(await ask("as=curl&dialect=bedrock")).toMatchObject({
    status: 404,
    text: expect.stringContaining("The client of `bedrock` cannot show its request"),
  });
});
