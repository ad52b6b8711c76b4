/** The served graph with `FALLBACK_MODELS`: real clients of two providers, over the real server. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import type { Respond } from "../support/strict-provider/reply.js";
import {
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { beforeFinish } from "../support/strict-provider/stream-cuts.js";
import { user } from "../support/thread.js";
import { Thread } from "./served.js";

const KEY = "Recognisable0Key1Of2The3Test";

/** Counts, then says what the calculator returned. The first provider cuts a text off if the user asks for it. */
const respond =
  (name: string): Respond =>
  ({ messages, streams }) => {
    if (messages.at(-1)?.role !== "tool")
      return { calls: [{ name: "calculator", args: { input: "20+22" } }] };
    const text = `${name} says ${messages.at(-1)?.content}`;
    const isCut =
      name === "first" && String(messages.findLast(({ role }) => role === "user")?.content) === "Break.";
    if (!isCut) return { text };
    return streams ? { text, broken: beforeFinish } : { text: "" };
  };

let first: StrictProvider;
let second: StrictProvider;
let server: DevServer;
beforeAll(async () => {
  [first, second] = await Promise.all([
    startStrictProvider(respond("first")),
    startStrictProvider(respond("second")),
  ]);
  server = await startDevServer({
    env: {
      MODEL: "openai:gpt-5",
      FALLBACK_MODELS: "anthropic:claude-sonnet-4-5",
      OPENAI_BASE_URL: `${first.url("openai")}/v1`,
      OPENAI_API_KEY: KEY,
      ANTHROPIC_BASE_URL: second.url("anthropic"),
      ANTHROPIC_API_KEY: KEY,
    },
  });
});
afterAll(async () => {
  await server?.stop();
  await Promise.all([first?.stop(), second?.stop()]);
});

it("A turn goes on with the second provider, and the next turn begins with the first one again.", async () => {
  const { client } = server;
  const thread = new Thread(client, "agent", (await client.threads.create()).thread_id);
  const body = { error: { message: `No access with ${KEY}.` } };
  first.failNext({ status: 403, body });
  const events: unknown[] = [];
  const run = client.runs.stream(thread.id, thread.graph, { input: user("Count."), streamMode: "custom" });
  for await (const { event, data } of run) if (event === "custom") events.push(data);
  expect(events).toMatchObject([
    {
      type: "model-switched",
      from: "openai:gpt-5",
      to: "anthropic:claude-sonnet-4-5",
      reason: "The provider refused the request with status 403: No access with [redacted].",
    },
    { type: "run-end", calls: 1, results: 1 },
  ]);
  const lines = ["human: Count.", "ai> calculator", "tool: 42", "ai: second says 42"];
  expect(await thread.script()).toEqual(lines);
  expect(await thread.send("Once more.")).toEqual([
    ...lines,
    "human: Once more.",
    "ai> calculator",
    "tool: 42",
    "ai: first says 42",
  ]);
  expect([...first.requests, ...second.requests].flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  expect(second.requests).toHaveLength(2);
});

it("What a client was shown of a response that was cut off is taken back.", async () => {
  const { client } = server;
  const thread = new Thread(client, "agent", (await client.threads.create()).thread_id);
  first.failNext();
  const texts = new Map<string, string>();
  const removed: (string | undefined)[] = [];
  const run = client.runs.stream(thread.id, thread.graph, {
    input: user("Break."),
    streamMode: "messages-tuple",
  });
  for await (const { event, data } of run) {
    if (event !== "messages") continue;
    const [{ id, type, content }] = data as unknown as [{ id: string; type: string; content: unknown }];
    if (type === "remove") {
      removed.push(texts.get(id));
      texts.delete(id);
    } else if (type.toLowerCase().startsWith("ai")) texts.set(id, (texts.get(id) ?? "") + textOf(content));
  }
  expect(removed).toEqual(["first says 42"]);
  expect([...texts.values()].filter((text) => text !== "")).toEqual(["second says 42"]);
  expect((await thread.script()).at(-1)).toBe("ai: second says 42");
});

/** Anthropic's client streams blocks. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((block) => String(block?.text ?? "")).join("") : "";
}
