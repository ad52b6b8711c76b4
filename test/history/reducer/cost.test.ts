/** What an update costs in a long history: a copy of the array, and work for the messages of the update. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";

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

const readsOf = (turns: number, update: (middle: number) => BaseMessage) => {
  const { history, reads } = countedHistory(turns);
  const { messages } = reduceMessages(history, update(turns / 2));
  const { count } = reads;
  expect(messages === history).toBe(false);
  return count;
};

const AT_THE_END: readonly (readonly [string, () => BaseMessage])[] = [
  ["appends a message", () => new HumanMessage({ id: "new", content: "Next" })],
  ["answers the last call", () => new ToolMessage({ id: "new", content: "found", tool_call_id: "last" })],
];

describe("an update at the end of a long history reads as much as one of a short history", () => {
  const readsAtTheEnd = (turns: number, update: () => BaseMessage) => {
    const { history, reads } = countedHistory(turns);
    const call = new AIMessage({
      id: "last",
      content: "",
      tool_calls: [{ id: "last", name: "look", args: {} }],
    });
    const { messages } = reduceMessages(history, call);
    reads.count = 0;
    expect(reduceMessages(messages, update()).messages).toHaveLength(messages.length + 1);
    return reads.count;
  };

  it.each(AT_THE_END)("that %s", (_name, update) => {
    expect(readsAtTheEnd(400, update)).toBe(readsAtTheEnd(20, update));
  });
});

const IN_THE_MIDDLE = Object.entries<(middle: number) => BaseMessage>({
  "replaces a user message": (middle) => new HumanMessage({ id: `h${middle}`, content: "Look again" }),
  "replaces a message with calls": (middle) =>
    new AIMessage({
      id: `a${middle}`,
      content: "I look.",
      tool_calls: [{ id: `c${middle}`, name: "look", args: {} }],
    }),
  "replaces a result": (middle) =>
    new ToolMessage({ id: `r${middle}`, content: "lost", tool_call_id: `c${middle}` }),
  "removes a text": (middle) => new RemoveMessage({ id: `t${middle}` }),
  "removes a call and its result": (middle) => new RemoveMessage({ id: `a${middle}` }),
});

describe("an update in the middle of a history reads the messages after it once", () => {
  it.each(IN_THE_MIDDLE)("that %s", (_name, update) => {
    const [few, many] = [readsOf(100, update), readsOf(200, update)];
    expect(many - few).toBe(readsOf(300, update) - many);
    // The type of a message, and its calls or its call id, for half of the messages.
    expect(few / 400).toBeLessThan(10);
  });
});

it("an unknown list is read once", () => {
  const readsOf = (turns: number) => {
    const { history, reads } = countedHistory(turns);
    reduceMessages([new HumanMessage({ id: "first", content: "Hello" }), ...history], []);
    return reads.count;
  };
  // What is known of the classes of messages is found once.
  readsOf(10);
  const [few, many] = [readsOf(100), readsOf(200)];
  expect(many - few).toBe(readsOf(300) - many);
  // The fields of a message, and for one with calls or a result a few of them again.
  expect(few / 400).toBeLessThan(40);
});

describe("after removals, a message is found by its id", () => {
  it("wherever it is", () => {
    let { messages } = reduceMessages([], Array.from({ length: 60 }, (_, index) => turn(index)).flat());
    for (let index = 0; index < 50; index += 1)
      messages = reduceMessages(messages, new RemoveMessage({ id: `a${index}` })).messages;
    const { messages: replaced } = reduceMessages(
      messages,
      Array.from({ length: 60 }, (_, index) => new HumanMessage({ id: `h${index}`, content: "Changed" })),
    );
    expect(replaced).toHaveLength(messages.length);
    expect(replaced.filter(({ content }) => content === "Changed")).toHaveLength(60);
    expect(reduceMessages(replaced, new RemoveMessage({ id: "a3" })).messages).toBe(replaced);
  });

  it("in each of two histories that branch", () => {
    const { messages } = reduceMessages([], Array.from({ length: 10 }, (_, index) => turn(index)).flat());
    const shorter = reduceMessages(messages, new RemoveMessage({ id: "h2" })).messages;
    const longer = reduceMessages(messages, [new HumanMessage({ id: "x", content: "1" })]).messages;
    const both = [shorter, longer].map((history) => reduceMessages(history, turn(20)).messages);
    for (const history of both) {
      const changed = reduceMessages(history, new HumanMessage({ id: "h20", content: "Changed" })).messages;
      expect(changed).toHaveLength(history.length);
      expect(changed.filter(({ content }) => content === "Changed")).toHaveLength(1);
    }
  });
});
