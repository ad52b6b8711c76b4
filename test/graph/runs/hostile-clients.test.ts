/** No message of a client ends a thread. */

import { ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidMessageError, TetherError } from "../../../src/index.js";
import { config, offlineGraph, ways } from "../../support/client-ways.js";
import { expectWarnings, OLD_PACKAGES } from "../../support/expect-warnings.js";
import { hostileLike, hostileMessage, nested } from "../../support/foreign-values.js";
import { runs } from "../../support/law-runs.js";
import { ScriptedModel } from "../../support/scripted-model.js";
import { messagesOf, pairedScript, user } from "../../support/thread.js";
import { titled } from "../../support/titled.js";

expectWarnings(OLD_PACKAGES);

interface Refused {
  readonly title: string;
  readonly message: unknown;
  readonly says: string | RegExp;
}

const deep = nested(60);
const call = { id: "c", name: "fast", args: {} };

const REFUSED = titled<Refused>([
  {
    title: "calls that are not a list",
    message: { type: "ai", content: "x", tool_calls: {} },
    says: "Expected `messages[0].tool_calls` to be a list of tool calls, got `{}`.",
  },
  {
    title: "calls in LangChain's form that are not a list",
    message: {
      lc: 1,
      type: "constructor",
      id: ["x", "AIMessage"],
      kwargs: { content: "x", tool_calls: "y" },
    },
    says: "Expected `messages[0].tool_calls` to be a list of tool calls",
  },
  {
    title: "calls in the stored form that are not a list",
    message: { type: "ai", data: { content: "x", tool_calls: { length: 2 } } },
    says: "Expected `messages[0].tool_calls` to be a list of tool calls",
  },
  {
    title: "a call that is not an object",
    message: { type: "ai", content: "x", tool_calls: [call, 5] },
    says: "Expected `messages[0].tool_calls[1]` to be a tool call",
  },
  {
    title: "a call that is null",
    message: { role: "assistant", content: "x", tool_calls: [null] },
    says: "Expected `messages[0].tool_calls[0]` to be a tool call",
  },
  {
    title: "arguments that are a text",
    message: { type: "ai", content: "x", tool_calls: [{ ...call, args: "text" }] },
    says: "Expected `messages[0].tool_calls[0].args` to be an object",
  },
  {
    title: "deep arguments",
    message: { type: "ai", content: "x", tool_calls: [{ ...call, args: { deep } }] },
    says: "Expected `messages[0].tool_calls[0].args` to be nested at most 40 levels deep",
  },
  {
    title: "a null block",
    message: { type: "ai", content: [null], tool_calls: [call] },
    says: "Expected `messages[0].content[0]` to be a content block (an object) or a text, got `null`.",
  },
  {
    title: "content that is an object",
    message: { role: "user", content: { text: "x" } },
    says: "Expected `messages[0].content` to be a text or a list of content blocks",
  },
  {
    title: "deep content",
    message: { role: "user", content: [{ type: "text", text: "x", extra: deep }] },
    says: "Expected `messages[0].content` to be nested at most 40 levels deep",
  },
  {
    title: "content 10,000 levels deep",
    message: { role: "user", content: nested(10_000) },
    says: "Expected `messages[0].content` to be",
  },
  {
    title: "a deep artifact of an instance",
    message: new ToolMessage({ content: "x", tool_call_id: "c", artifact: deep }),
    says: "Expected `messages[0].artifact` to be nested at most 40 levels deep",
  },
  {
    title: "an object that would become an instance of a class",
    message: { role: "user", content: [{ lc: 1, type: "constructor", id: ["nowhere"], kwargs: {} }] },
    says: "Expected `messages[0].content` to be plain data, without LangChain's serialized form",
  },
  {
    title: "a bigint in a call",
    message: { type: "ai", content: "x", tool_calls: [{ ...call, args: { id: 5n } }] },
    says: "Expected `messages[0].tool_calls[0].args` to be plain data, without bigints",
  },
  {
    title: "a bigint in another field",
    message: { role: "user", content: "x", additional_kwargs: { rows: [{ id: 5n }] } },
    says: "Expected `messages[0].additional_kwargs` to be plain data, without bigints",
  },
  {
    title: "JSON that names a class",
    message: {
      role: "user",
      content: "x",
      additional_kwargs: { form: { toJSON: () => ({ lc: 1, type: "constructor", id: ["nowhere"] }) } },
    },
    says: "Expected `messages[0].additional_kwargs` to be plain data, without LangChain's serialized form",
  },
  {
    title: "fields that cannot be read",
    message: new Proxy(
      {},
      {
        get: () => {
          throw new Error("Not to be read");
        },
      },
    ),
    says: "Expected `messages[0]` to be a message that can be read, got `object`.",
  },
  {
    title: "a result without the id of its call",
    message: { role: "tool", content: "x" },
    says: "Expected `messages[0].tool_call_id` to be the id of a tool call",
  },
]);

describe.each(ways)("Through %s,", (_way, send) => {
  it.each(REFUSED)("a message with %s is refused by name, and the thread goes on", async (_title, row) => {
    const graph = offlineGraph();
    await graph.invoke(user("hello"), config);
    const before = await graph.getState(config);
    const refusal = await Promise.resolve()
      .then(() => send(graph, row.message))
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(InvalidMessageError);
    expect(String(refusal)).toContain(row.says);
    expect((await graph.getState(config)).values).toEqual(before.values);
    expect(pairedScript(await graph.invoke(user("call fast"), config))).toHaveLength(6);
  });
});

describe.each(["offline:", "scripted"])("With the model %s,", (model) => {
  it("any message of a client is accepted or refused, and the next turn works", async () => {
    const message = fc.oneof(hostileLike, hostileMessage);
    const law = fc.asyncProperty(message, fc.constantFrom(...ways), async (value, [, send]) => {
      const answers = Array.from({ length: 9 }, () => "fine");
      const graph = offlineGraph(model === "scripted" ? { model: new ScriptedModel(answers) } : {});
      await graph.invoke(user("hello"), config);
      const outcome = await Promise.resolve()
        .then(() => send(graph, value))
        .catch((error: unknown) => error);
      if (outcome instanceof Error && !TetherError.isInstance(outcome)) throw outcome;
      pairedScript(await graph.invoke(user("are you there?"), config));
      messagesOf((await graph.getState(config)).values);
    });
    await fc.assert(law, runs(60));
  });
});
