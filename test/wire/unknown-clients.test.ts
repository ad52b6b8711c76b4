/** Clients that are not known, over HTTP: a history is sent as it is stored, and only a refusal leads to the strict form. */

import { createServer } from "node:http";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOllama } from "@langchain/ollama";
import { beforeEach, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { createLook } from "../support/chain-script.js";
import { listen } from "../support/listen.js";
import { stopAtEnd } from "../support/test-tools.js";

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

const bodies: Body[] = [];
/** What the host answers to the next request in place of a response. */
const refusals: string[] = [];

const { url } = stopAtEnd(
  await listen(
    createServer(async (request, response) => {
      bodies.push(JSON.parse(Buffer.concat(await request.toArray()).toString()));
      const refusal = refusals.shift();
      if (refusal !== undefined) {
        response
          .writeHead(400, { "content-type": "application/json" })
          .end(JSON.stringify({ error: refusal }));
        return;
      }
      const message = { role: "assistant", content: "Clear." };
      const line = {
        model: "qwen3",
        created_at: "2026-01-01T00:00:00Z",
        message,
        done: true,
        done_reason: "stop",
      };
      response.writeHead(200, { "content-type": "application/x-ndjson" }).end(`${JSON.stringify(line)}\n`);
    }),
  ),
);

beforeEach(() => {
  bodies.length = 0;
  refusals.length = 0;
});

async function send(messages: BaseMessage[]) {
  const model = new ChatOllama({ model: "qwen3", baseUrl: url, maxRetries: 0 });
  const graph = createAgentGraph({ model, tools: [createLook().look] });
  const events: unknown[] = [];
  for await (const event of await graph.stream({ messages }, { streamMode: "custom" }))
    events.push(Reflect.get(Object(event), "type"));
  return events;
}

const history = (content: unknown): BaseMessage[] => [
  new HumanMessage("Hello."),
  new HumanMessage("How is the sky?"),
  new AIMessage({ content: "", tool_calls: [{ id: "functions.look:0", name: "look", args: {} }] }),
  new ToolMessage({ content: content as string, tool_call_id: "functions.look:0" }),
];
const rolesOf = (body: Body | undefined) => body?.messages.map(({ role }) => role);

it("A sound history is sent as it is stored.", async () => {
  expect(await send(history("clear"))).not.toContain("input-reduced");
  expect(bodies.map(rolesOf)).toEqual([["user", "user", "assistant", "tool"]]);
  expect(JSON.stringify(bodies[0])).toContain("functions.look:0");
});

it("A refusal by a known rule leads to the strict form.", async () => {
  refusals.push("Conversation roles must alternate user/assistant/user/assistant/...");
  expect(await send(history("clear"))).toContain("input-reduced");
  expect(bodies.map(rolesOf)).toEqual([
    ["user", "user", "assistant", "tool"],
    ["user", "assistant", "tool"],
  ]);
});

it("So does a client that throws for a block.", async () => {
  const events = await send(
    history([
      { type: "text", text: "clear" },
      { type: "text", text: "and cold" },
    ]),
  );
  expect(events).toContain("input-reduced");
  expect(bodies.map(({ messages }) => messages.at(-1)?.content)).toEqual(["clear\nand cold"]);
});

it("A refusal of the model's name is the error of the run.", async () => {
  refusals.push("look-1 is not a valid model ID");
  await expect(send(history("clear"))).rejects.toThrow("look-1 is not a valid model ID");
  expect(bodies).toHaveLength(1);
});
