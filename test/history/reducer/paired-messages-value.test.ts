import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import { END, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { InvalidMessageError } from "../../../src/errors.js";
import { PairedMessagesValue, REPAIR_CHANNEL } from "../../../src/history/reducer/paired-messages.js";
import { PairedMessagesDeltaValue } from "../../../src/threads/langgraph/channels.js";
import { ai, human, removal, result } from "../../support/make-messages.js";
import { outline, toPlainList } from "../../support/plain-messages.js";
import { stateViolations } from "../../support/strict-check.js";

type Update = BaseMessage | BaseMessage[] | unknown;

/** A graph with one node that writes the requested updates. */
function build(field: typeof PairedMessagesValue | typeof PairedMessagesDeltaValue) {
  let reply: Update = [];
  const schema = new StateSchema({ messages: field as typeof PairedMessagesValue });
  const graph = new StateGraph(schema)
    .addNode("reply", () => ({ messages: reply as BaseMessage[] }))
    .addEdge(START, "reply")
    .addEdge("reply", END)
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "thread" } };
  const run = async (input: Update, answer: Update = []): Promise<BaseMessage[]> => {
    reply = answer;
    const { messages } = await graph.invoke({ messages: input as BaseMessage[] }, config);
    return messages;
  };
  const read = async (): Promise<BaseMessage[]> => (await graph.getState(config)).values["messages"] ?? [];
  const update = (messages: Update) => graph.updateState(config, { messages }, "reply");
  return { run, read, update, config, graph };
}

describe.each([
  ["PairedMessagesValue", PairedMessagesValue],
  ["PairedMessagesDeltaValue", PairedMessagesDeltaValue],
] as const)("%s in a graph", (_name, field) => {
  it("appends over several invocations, and is read back unchanged", async () => {
    const { run, read } = build(field);
    await run([human("h1")], ai("a1"));
    const messages = await run([human("h2")], [ai("a2")]);
    expect(outline(messages)).toBe("h1 a1 h2 a2");
    expect(toPlainList(await read())).toEqual(toPlainList(messages));
  });

  it("takes strings, tuples and objects, and keeps the ids that it derives", async () => {
    const { run, read } = build(field);
    const first = await run("hi", [{ role: "assistant", content: "ho" }]);
    await run([["user", "hi"]]);
    const messages = await read();
    expect(messages.map(({ type, content }) => [type, content])).toEqual([
      ["human", "hi"],
      ["ai", "ho"],
      ["human", "hi"],
    ]);
    expect(messages.slice(0, 2).map(({ id }) => id)).toEqual(first.map(({ id }) => id));
    expect(stateViolations(messages)).toEqual([]);
    expect(toPlainList(await read())).toEqual(toPlainList(messages));
  });

  it("takes updates of the state", async () => {
    const { run, read, update } = build(field);
    await run([human("h1")], ai("a", "c"));
    await update([result("t", "c"), human("h2", "edited")]);
    await update([human("h2", "edited again"), removal("unknown")]);
    const messages = await read();
    expect(outline(messages)).toBe("h1 a t h2");
    expect(messages[3]?.content).toBe("edited again");
  });

  it.each([
    ["an object without a role", { content: "hi" }, '{"content":"hi"}'],
    ["a number", 7, "7"],
    ["a result without a call id", { role: "tool", content: "hi" }, '{"role":"tool","content":"hi"}'],
  ])("refuses %s as input, names it and changes nothing", async (_title, value, shown) => {
    const { run, read } = build(field);
    await run([human("h1")], ai("a"));
    const refusal = run([human("h2"), value]);
    await expect(refusal).rejects.toThrow(InvalidMessageError);
    await expect(refusal).rejects.toThrow(
      `Expected \`messages[1]\` to be a message (a string, or an object with \`role\` or \`type\`), got \`${shown}\`.`,
    );
    expect(outline(await read())).toBe("h1 a");
    expect(outline(await run([human("h3")]))).toBe("h1 a h3");
  });

  it("refuses a value that is not a message, from a node and from an update of the state", async () => {
    const { run, read, update } = build(field);
    await run([human("h1")]);
    await expect(run([human("h2")], [{ content: "hi" }])).rejects.toThrow(/Expected `messages\[0\]`/);
    await expect(update({ content: "hi" })).rejects.toThrow(/Expected `messages` to be a message/);
    expect(stateViolations(await read())).toEqual([]);
    expect(outline(await run([human("h3")]))).toMatch(/^h1 .*h3$/);
  });

  it("publishes its repairs", async () => {
    const keys: string[] = [];
    const keep = (repair: unknown) => keys.push(String(Object(repair).key));
    subscribe(REPAIR_CHANNEL, keep);
    try {
      const { run } = build(field);
      await run([human("h1"), result("t", "unknown")]);
    } finally {
      unsubscribe(REPAIR_CHANNEL, keep);
    }
    expect(new Set(keys)).toEqual(new Set(["orphan-refused:t"]));
  });

  it("has the mark by which Studio shows its chat input", () => {
    expect(field.jsonSchemaExtra).toMatchObject({ langgraph_type: "messages" });
  });
});
