/** The channel of messages, as a reducer and in a graph. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import { END, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InvalidMessageError } from "../../src/errors.js";
import {
  PairedMessagesValue,
  pairedMessagesReducer,
  REPAIR_CHANNEL,
} from "../../src/history/reducer/paired-messages.js";
import type { Repair } from "../../src/history/repair.js";
import {
  PairedMessagesDeltaValue,
  pairedMessagesDeltaReducer,
} from "../../src/threads/langgraph/channels.js";
import { ai, human, messagesIn, removal, result } from "../support/make-messages.js";
import { outline, toPlainList } from "../support/plain-messages.js";
import { stateViolations } from "../support/strict-check.js";

let published: Repair[] = [];
const keep = (repair: unknown) => published.push(repair as Repair);

beforeEach(() => {
  published = [];
  subscribe(REPAIR_CHANNEL, keep);
});
afterEach(() => unsubscribe(REPAIR_CHANNEL, keep));

describe("The reducer of a channel", () => {
  it("returns the same messages as the pure reducer, and publishes nothing if nothing was repaired", () => {
    const state = pairedMessagesReducer([ai("a", "c")], [human("h"), result("t", "c")]);
    expect(outline(state)).toBe("a t h");
    expect(published).toEqual([]);
  });

  it("begins with no messages if the channel has no value", () => {
    expect(outline(pairedMessagesReducer(undefined, human("h")))).toBe("h");
  });
});

describe("Rule 12: repairs are published", () => {
  it("on the channel with this name", () => {
    expect(REPAIR_CHANNEL).toBe("langgraph-tether:repair");
  });

  it("each with its key", () => {
    const orphan = result("t", "c");
    pairedMessagesReducer([human("h")], [orphan, removal("gone"), 7]);
    expect(published).toEqual([
      { kind: "orphan-refused", message: orphan, key: "orphan-refused:t" },
      { kind: "removal-ignored", id: "gone", key: "removal-ignored:gone" },
      { kind: "value-refused", value: 7, key: "value-refused:7" },
    ]);
  });

  it("with the same key when the same repair is made again", () => {
    const update = [result("", "c", "hi"), { content: "no message" }];
    for (let time = 0; time < 2; time += 1) pairedMessagesReducer([human("h")], update);
    const keys = published.map(({ key }) => key);
    expect(keys).toHaveLength(4);
    expect(keys.slice(2)).toEqual(keys.slice(0, 2));
  });

  it("by the delta reducer as well", () => {
    pairedMessagesDeltaReducer([], [[result("t", "c")], human("h")]);
    expect(published.map(({ kind }) => kind)).toEqual(["orphan-refused"]);
  });
});

describe.each([
  ["PairedMessagesValue", PairedMessagesValue],
  ["PairedMessagesDeltaValue", PairedMessagesDeltaValue],
] as const)("%s in a graph", (_name, field) => {
  /** A graph with one node that writes the requested updates. */
  function build() {
    let reply: unknown = [];
    const schema = new StateSchema({ messages: field as typeof PairedMessagesValue });
    const graph = new StateGraph(schema)
      .addNode("reply", () => ({ messages: reply as BaseMessage[] }))
      .addEdge(START, "reply")
      .addEdge("reply", END)
      .compile({ checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "thread" } };
    const run = async (input: unknown, answer: unknown = []): Promise<BaseMessage[]> => {
      reply = answer;
      return (await graph.invoke({ messages: input as BaseMessage[] }, config)).messages;
    };
    const read = async (): Promise<BaseMessage[]> => (await graph.getState(config)).values["messages"] ?? [];
    const update = (messages: unknown) => graph.updateState(config, { messages }, "reply");
    return { run, read, update };
  }

  it("appends over several invocations, and is read back unchanged", async () => {
    const { run, read } = build();
    await run([human("h1")], ai("a1"));
    const messages = await run([human("h2")], [ai("a2")]);
    expect(outline(messages)).toBe("h1 a1 h2 a2");
    expect(toPlainList(await read())).toEqual(toPlainList(messages));
  });

  it("takes strings, tuples and objects, and keeps the ids that it derives", async () => {
    const { run, read } = build();
    const first = await run("hi", [{ role: "assistant", content: "ho" }]);
    await run([["user", "hi"]]);
    const messages = await read();
    expect(messages.map(({ type, content }) => `${type} ${content}`)).toEqual([
      "human hi",
      "ai ho",
      "human hi",
    ]);
    expect(outline(messages.slice(0, 2))).toBe(outline(first));
    expect(stateViolations(messages)).toEqual([]);
    expect(toPlainList(await read())).toEqual(toPlainList(messages));
  });

  it("takes updates of the state", async () => {
    const { run, read, update } = build();
    await run([human("h1")], ai("a", "c"));
    await update(messagesIn("t:c h2~edited"));
    await update(messagesIn("h2~again -unknown"));
    const messages = await read();
    expect(outline(messages)).toBe("h1 a t h2");
    expect(messages[3]?.content).toBe("again");
  });

  it.each([
    ["an object without a role", { content: "hi" }],
    ["a number", 7],
    ["a result without a call id", { role: "tool", content: "hi" }],
  ])("refuses %s as input, names it and changes nothing", async (_title, value) => {
    const { run, read } = build();
    await run([human("h1")], ai("a"));
    const refusal = run([human("h2"), value]);
    await expect(refusal).rejects.toThrow(InvalidMessageError);
    await expect(refusal).rejects.toThrow(
      `Expected \`messages[1]\` to be a message (a string, or an object with \`role\` or \`type\`), got \`${JSON.stringify(value)}\`.`,
    );
    expect(outline(await read())).toBe("h1 a");
    expect(outline(await run([human("h3")]))).toBe("h1 a h3");
  });

  it("refuses a value that is not a message, from a node and from an update of the state", async () => {
    const { run, read, update } = build();
    await run([human("h1")]);
    await expect(run([human("h2")], [{ content: "hi" }])).rejects.toThrow(/Expected `messages\[0\]`/);
    await expect(update({ content: "hi" })).rejects.toThrow(/Expected `messages` to be a message/);
    expect(stateViolations(await read())).toEqual([]);
    expect(outline(await run([human("h3")]))).toMatch(/^h1 .*h3$/);
  });

  it("publishes its repairs", async () => {
    await build().run([human("h1"), result("t", "unknown")]);
    expect(new Set(published.map(({ key }) => key))).toEqual(new Set(["orphan-refused:t"]));
  });

  it("has the mark by which Studio shows its chat input", () => {
    expect(field.jsonSchemaExtra).toMatchObject({ langgraph_type: "messages" });
  });
});
