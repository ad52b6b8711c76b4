/** What an update costs in a long history: a copy of the array, and work for the messages of the update. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";

const turn = (index: number): BaseMessage[] => [
  new HumanMessage({ id: `h${index}`, content: "Look" }),
  new AIMessage({
    id: `a${index}`,
    content: "",
    tool_calls: [{ id: `c${index}`, name: "look", args: { place: { name: "Rome" } } }],
  }),
  new ToolMessage({ id: `r${index}`, content: "found", tool_call_id: `c${index}` }),
  new AIMessage({ id: `t${index}`, content: "Done" }),
];

/** A history that counts how many properties of its messages are read, except their ids. */
function countedHistory(turns: number) {
  const reads = { count: 0 };
  const counted = (message: BaseMessage): BaseMessage =>
    new Proxy(message, {
      get: (target, key) => {
        if (key !== "id") reads.count += 1;
        return Reflect.get(target, key, target);
      },
    });
  const given = Array.from({ length: turns }, (_, index) => turn(index).map(counted)).flat();
  const { messages } = reduceMessages([], given);
  reads.count = 0;
  return { history: messages, reads };
}

/** What the update of a history costs, which `prepare` makes of the counted one. */
function readsOf(
  turns: number,
  update: BaseMessage,
  prepare = (history: BaseMessage[]): BaseMessage[] => history,
) {
  const { history, reads } = countedHistory(turns);
  const before = prepare(history);
  reads.count = 0;
  const { messages } = reduceMessages(before, update);
  const { count } = reads;
  expect(messages === before).toBe(false);
  return count;
}

const callOf = (id: string, callId: string) =>
  new AIMessage({ id, content: "", tool_calls: [{ id: callId, name: "look", args: {} }] });
const humanOf = (id: string, content: string) => new HumanMessage({ id, content });

it.each<[title: string, update: BaseMessage]>([
  ["appends a message", humanOf("new", "Next")],
  ["answers the last call", new ToolMessage({ id: "new", content: "found", tool_call_id: "last" })],
])("an update that %s of a long history reads as much as one of a short history", (_name, update) => {
  const withCall = (history: BaseMessage[]) => reduceMessages(history, callOf("last", "last")).messages;
  expect(readsOf(400, update, withCall)).toBe(readsOf(20, update, withCall));
});

it.each(
  Object.entries<(middle: number) => BaseMessage>({
    "replaces a user message": (middle) => humanOf(`h${middle}`, "Look again"),
    "replaces a message with calls": (middle) => callOf(`a${middle}`, `c${middle}`),
    "replaces a result": (middle) =>
      new ToolMessage({ id: `r${middle}`, content: "lost", tool_call_id: `c${middle}` }),
    "removes a text": (middle) => new RemoveMessage({ id: `t${middle}` }),
    "removes a call and its result": (middle) => new RemoveMessage({ id: `a${middle}` }),
  }),
)("an update that %s in the middle of a history reads the messages after it once", (_name, update) => {
  const [few = 0, many = 0, more = 0] = [100, 200, 300].map((turns) => readsOf(turns, update(turns / 2)));
  expect(many - few).toBe(more - many);
  // The type of a message, and its calls or its call id, for half of the messages.
  expect(few / 400).toBeLessThan(10);
});

it("an unknown list is read once", () => {
  const readsOf = (turns: number) => {
    const { history, reads } = countedHistory(turns);
    reduceMessages([humanOf("first", "Hello"), ...history], []);
    return reads.count;
  };
  // What is known of the classes of messages is found once.
  const [, few = 0, many = 0, more = 0] = [10, 100, 200, 300].map(readsOf);
  expect(many - few).toBe(more - many);
  // The fields of a message, and for one with calls or a result a few of them again.
  expect(few / 400).toBeLessThan(40);
});

describe("after removals, a message is found by its id", () => {
  const historyOf = (turns: number) =>
    reduceMessages([], Array.from({ length: turns }, (_, index) => turn(index)).flat()).messages;
  const changed = (messages: readonly BaseMessage[]) =>
    messages.filter(({ content }) => content === "Changed").length;

  it("wherever it is", () => {
    let messages = historyOf(60);
    for (let index = 0; index < 50; index += 1)
      messages = reduceMessages(messages, new RemoveMessage({ id: `a${index}` })).messages;
    const update = Array.from({ length: 60 }, (_, index) => humanOf(`h${index}`, "Changed"));
    const { messages: replaced } = reduceMessages(messages, update);
    expect(replaced).toHaveLength(messages.length);
    expect(changed(replaced)).toBe(60);
    expect(reduceMessages(replaced, new RemoveMessage({ id: "a3" })).messages).toBe(replaced);
  });

  it("in each of two histories that branch", () => {
    const messages = historyOf(10);
    const both = [new RemoveMessage({ id: "h2" }), humanOf("x", "1")].map(
      (update) => reduceMessages(reduceMessages(messages, update).messages, turn(20)).messages,
    );
    for (const history of both) {
      const after = reduceMessages(history, humanOf("h20", "Changed")).messages;
      expect(after).toHaveLength(history.length);
      expect(changed(after)).toBe(1);
    }
  });
});
