/** A user's message that LangChain would read as an empty one, because its words are in another field. */

import { HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Command, InMemoryStore, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph, InvalidMessageError, PairedMessagesValue } from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";

const PARTS = { role: "user", id: "m1", parts: [{ type: "text", text: "What is the weather?" }] };
const config = { configurable: { thread_id: "1" } };
const HINT = "Messages of the AI SDK have `parts`: convert them with its `convertToModelMessages`.";

const agent = () =>
  createAgentGraph({
    model: "offline:",
    checkpointer: new MemorySaver(),
    store: new InMemoryStore(),
    steering: true,
  });
const middleware = () =>
  createAgent({
    model: new FakeListChatModel({ responses: ["Hi."] }),
    middleware: [tetherMiddleware()],
    checkpointer: new MemorySaver(),
  });
const State = new StateSchema({ messages: PairedMessagesValue });
const ownGraph = () =>
  new StateGraph(State)
    .addNode("model", () => ({}))
    .addEdge(START, "model")
    .compile({ checkpointer: new MemorySaver() });

const drain = async (stream: AsyncIterable<unknown>) => {
  for await (const _ of stream);
};

describe("A message of the user without `content` is refused", () => {
  it.each<[string, (message: never) => Promise<unknown>]>([
    ["by `invoke`", (message) => agent().invoke({ messages: [message] }, config)],
    ["by `invoke`, alone", (message) => agent().invoke({ messages: message }, config)],
    ["by `stream`", async (message) => drain(await agent().stream({ messages: [message] }, config))],
    [
      "by `streamEvents`",
      (message) => drain(agent().streamEvents({ messages: [message] }, { ...config, version: "v2" })),
    ],
    ["by `steer`", (message) => agent().steer("1", message)],
    ["by `updateState`", (message) => agent().updateState(config, { messages: [message] })],
    ["in a `Command`", (message) => agent().invoke(new Command({ update: { messages: [message] } }), config)],
    ["by an agent with the middleware", (message) => middleware().invoke({ messages: [message] }, config)],
    ["by a graph with paired messages", (message) => ownGraph().invoke({ messages: [message] }, config)],
  ])("%s.", async (door, send) => {
    const error = await send(PARTS as never).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    // LangChain's agents put the text into an error of their own.
    expect(`${error}`).toContain("to be a message of the user with `content`");
    expect(`${error}`).toContain(HINT);
    expect(door.includes("middleware") || InvalidMessageError.isInstance(error)).toBe(true);
  });

  it.each<[string, unknown, string]>([
    [
      "with its words in `text`",
      { role: "user", text: "Hello!" },
      "Did you mean `content` in place of `text`?",
    ],
    [
      "with its words in `message`",
      { type: "human", message: "Hello!" },
      "Did you mean `content` in place of `message`?",
    ],
    ["with nothing", { role: "user" }, 'got `{"role":"user"}`.'],
    ["as a tuple without a second part", ["user"], 'got `["user"]`.'],
    ["whose `content` is undefined", { role: "user", content: undefined }, "with `content`"],
  ])("%s", async (_title, message, says) => {
    await expect(agent().invoke({ messages: [message as never] })).rejects.toThrow(says);
  });
});

it.each<[string, unknown]>([
  ["an empty text", { role: "user", content: "" }],
  ["an empty list", { role: "user", content: [] }],
  ["an instance", new HumanMessage("")],
  ["null", { role: "user", content: null }],
  ["blocks of LangChain", { role: "user", contentBlocks: [{ type: "text", text: "Hello!" }] }],
  ["LangChain's storage form", { type: "human", data: { content: "" } }],
  ["LangChain's serialized form", JSON.parse(JSON.stringify(new HumanMessage("")))],
  ["a tuple", ["user", ""]],
  ["a call without content", { role: "assistant", tool_calls: [{ id: "c1", name: "look", args: {} }] }],
])("%s goes on as it is.", async (_title, message) => {
  await expect(agent().updateState(config, { messages: [message as never] })).resolves.toBeDefined();
  await expect(middleware().invoke({ messages: [message as never] }, config)).resolves.toBeDefined();
});

it("An instance whose content was taken away is repaired under the middleware, as before.", async () => {
  const message = Object.assign(new HumanMessage("x"), { content: undefined });
  await expect(middleware().invoke({ messages: [message as never] }, config)).resolves.toBeDefined();
});
