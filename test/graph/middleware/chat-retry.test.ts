/** Chat middleware with `retry` asks the model again. Only the last response is stored and shown. */

import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type ChatContext, chatMiddleware, createAgentGraph, type Next } from "../../../src/index.js";
import { openThread } from "../../support/open-thread.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";

type Handle = (context: ChatContext, next: Next) => Promise<void>;

const twice: Handle = async (_context, next) => {
  await next();
  await next();
};
const untilLong: Handle = async (context, next) => {
  do await next();
  while ((context.result?.text.length ?? 0) < 10 && context.attempt < 3);
};

function open(handle: Handle, steps: readonly Step[], readOnly = false) {
  const probe = createProbe();
  const graph = createAgentGraph({
    model: scripted(...steps),
    tools: [probe.fast],
    checkpointer: new MemorySaver(),
    middleware: [chatMiddleware(handle, { name: "again", retry: true, readOnly })],
  });
  return { ...openThread(graph), probe };
}

const piece = (content: string, id: string) => new AIMessageChunk({ content, id });
const paid = (content: string, total: number) =>
  Object.assign(new AIMessage({ content }), {
    usage_metadata: { input_tokens: total, output_tokens: 0, total_tokens: total },
  });

describe.each([false, true])("a chat middleware with retry, readOnly: %s,", (readOnly) => {
  it("asks until it likes the response, and knows the attempt", async () => {
    const attempts: number[] = [];
    const handle: Handle = async (context, next) => {
      await untilLong(context, async () => {
        await next();
        attempts.push(context.attempt);
      });
    };
    const thread = open(handle, ["short", "no", "long enough now"], readOnly);
    const { messages, error } = await thread.send("go");
    expect(error).toBeUndefined();
    expect(attempts).toEqual([1, 2, 3]);
    expect(messages.map(({ text }) => text)).toEqual(["long enough now"]);
    expect((await thread.read()).map(({ text }) => text)).toEqual(["go", "long enough now"]);
  });

  it("asks again after an error of the model", async () => {
    const handle: Handle = async (_context, next) => {
      await next().catch(next);
    };
    const thread = open(handle, [new Error("503"), "here"], readOnly);
    expect((await thread.send("go")).messages.map(({ text }) => text)).toEqual(["here"]);
  });

  it("discards tool calls: they are not run, shown or stored", async () => {
    const steps = [calls(["fast", { label: "1" }]), calls(["fast", { label: "2" }]), "done", "the end"];
    const thread = open(twice, steps, readOnly);
    const { messages } = await thread.send("go");
    expect(thread.probe.runs).toEqual(["fast:2"]);
    const stored = await thread.read();
    expect(stored.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(messages.map(({ id }) => id)).toEqual(stored.slice(1).map(({ id }) => id));
  });

  it("shows each response under its own id, even if the provider repeats it", async () => {
    const thread = open(twice, [[piece("one", "same")], [piece("two", "same")]], readOnly);
    const { messages } = await thread.send("go");
    expect(messages.map(({ text }) => text)).toEqual(["two"]);
    expect((await thread.read()).at(-1)).toMatchObject({ id: messages[0]?.id, content: "two" });
  });

  it("can go back to an earlier response", async () => {
    const handle: Handle = async (context, next) => {
      await next();
      const first = context.result;
      await next().catch(() => {
        context.result = first;
      });
    };
    const thread = open(handle, [[piece("one", "a")], new Error("503")], readOnly);
    const { messages, error } = await thread.send("go");
    expect(error).toBeUndefined();
    expect(messages.map(({ text }) => text)).toEqual(["one"]);
    expect((await thread.read()).map(({ text }) => text)).toEqual(["go", "one"]);
  });

  it("pays for all of its responses", async () => {
    const { events } = await open(twice, [paid("one", 10), paid("two", 5)], readOnly).send("go");
    expect(events.at(-1)).toMatchObject({ type: "run-end", usage: { total_tokens: 15 } });
  });

  it("has no result left if the last attempt failed", async () => {
    const handle: Handle = async (_context, next) => {
      await next();
      await next().catch(() => {});
    };
    const thread = open(handle, ["one", new Error("503")], readOnly);
    const { error, messages } = await thread.send("go");
    expect(String(error)).toContain("no `context.result`");
    expect(messages).toEqual([]);
  });
});

it("An inner middleware runs in each attempt, and can answer the second one itself", async () => {
  const seen: string[] = [];
  const inner = chatMiddleware(async (context, next) => {
    seen.push(`attempt ${context.attempt}`);
    if (context.attempt === 1) await next();
    else context.result = "from the inner one";
  });
  const graph = createAgentGraph({
    model: scripted("one"),
    checkpointer: new MemorySaver(),
    middleware: [chatMiddleware(twice, { retry: true }), inner],
  });
  const { messages } = await openThread(graph).send("go");
  expect(seen).toEqual(["attempt 1", "attempt 2"]);
  expect(messages.map(({ text }) => text)).toEqual(["from the inner one"]);
});

it("Without `retry`, a second `next()` is an error that names the middleware", async () => {
  const graph = createAgentGraph({
    model: scripted("one"),
    middleware: [chatMiddleware(twice, { name: "mine" })],
  });
  await expect(graph.invoke({ messages: "go" })).rejects.toThrow(
    "The middleware `mine` called `next()` twice. Only a chat or function middleware made with `{ retry: true }` can do so.",
  );
});
