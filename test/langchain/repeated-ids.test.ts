/** Tools, caches and providers give the same id to several messages. No earlier message of the thread is lost by it. */

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { lines } from "../support/lines.js";
import { calls } from "../support/models.js";
import { openAgent, openThread } from "../support/open-thread.js";
import { scripted } from "../support/scripted-model.js";
import { script } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

const stamped = makeTool(
  "stamped",
  (_, { toolCallId }) =>
    new ToolMessage({ id: "const", content: `for ${toolCallId}`, tool_call_id: toolCallId }),
);
const rate = makeTool("rate", () => "1.1");

/** Returns the result of the first call for all later ones, as a cache does. */
const caching = () => {
  let hit: ToolMessage | undefined;
  return createMiddleware({
    name: "Caching",
    wrapToolCall: async (request, handler) => {
      if (hit !== undefined) return new ToolMessage({ ...hit, tool_call_id: request.toolCall.id ?? "" });
      hit = (await handler(request)) as ToolMessage;
      hit.id = "cached";
      return hit;
    },
  });
};

const idsOf = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id);
const expectDistinctIds = (messages: readonly BaseMessage[]) =>
  expect(new Set(idsOf(messages)).size).toBe(messages.length);

describe("an agent with the middleware keeps every result", () => {
  it.each([
    ["of a tool that gives one id to all of its results", [tetherMiddleware()], stamped],
    ["of a cache before the middleware", [caching(), tetherMiddleware()], rate],
    ["of a cache after the middleware", [tetherMiddleware(), caching()], rate],
  ])("%s", async (_title, middleware, tool) => {
    const call = (id: string): [string, object, string] => [tool.name, {}, id];
    const model = scripted(calls(call("a"), call("b")), "One.", calls(call("c")), "Two.");
    const thread = openAgent({ model, tools: [tool], middleware });
    await thread.send("Go.");
    await thread.send("Again.");
    const messages = await thread.read();
    const results = messages.filter((message) => ToolMessage.isInstance(message));
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(["a", "b", "c"]);
    expect(results.every(({ status }) => status !== "error")).toBe(true);
    expectDistinctIds(messages);
  });
});

const answer = (content: string) => new AIMessage({ id: "chatcmpl-7", content });
const expected = lines("human: Go. | ai: One. | human: Again. | ai: Two. | human: And again. | ai: Three.");

describe("a response with the id of an earlier one is a new message", () => {
  it("under the middleware, also if another middleware has left the earlier one out of the request", async () => {
    const cutting = createMiddleware({
      name: "Cutting",
      wrapModelCall: (request, handler) => handler({ ...request, messages: request.messages.slice(-1) }),
    });
    const model = scripted(answer("One."), answer("Two."), answer("Three."));
    const thread = openAgent({ model, middleware: [cutting, tetherMiddleware()] });
    for (const text of ["Go.", "Again.", "And again."]) await thread.send(text);
    expect(script(await thread.read())).toEqual(expected);
    expectDistinctIds(await thread.read());
  });

  it("in a graph", async () => {
    const model = scripted(answer("One."), answer("Two."), answer("Three."));
    const thread = openThread(createAgentGraph({ model, checkpointer: new MemorySaver() }));
    for (const text of ["Go.", "Again.", "And again."]) await thread.send(text);
    expect(script(await thread.read())).toEqual(expected);
    expectDistinctIds(await thread.read());
  });
});
