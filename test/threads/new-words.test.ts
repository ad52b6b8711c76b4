/** What an input says that the thread does not have, where the client sends the whole list of a thread with a summary. */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { newWords } from "../../src/threads/new-words.js";
import { createSummary } from "../support/internals.js";

const human = (content: string, id: string) => new HumanMessage({ content, id });

const summary = createSummary("They greeted each other.", { kind: "keep", messages: ["1", "2"] });
const history = [
  human("Hello.", "1"),
  new AIMessage({ content: "Hi.", id: "2" }),
  summary,
  human("And?", "3"),
];
/** A page knows no marks. */
const copies = (history as BaseMessage[]).map((message) =>
  message.type === "human" ? human(message.text, message.id ?? "") : message,
);

describe("a list that a page sends again", () => {
  it("has nothing new, though its summary looks like a user's message", () => {
    const sent = [...copies, human("Go on.", "4")];
    expect(newWords(history, sent)).toEqual({ messages: sent, isEdit: false, hasLateResult: false });
  });

  it("has an edit before its summary, which leaves out only what the page does not send", () => {
    const sent = [human("Good evening.", "1"), ...copies.slice(1, 3)];
    const { messages, isEdit } = newWords(history, sent);
    expect(isEdit).toBe(true);
    expect(messages.map(({ type, id }) => [type, id])).toEqual([
      ["remove", "3"],
      ...sent.map(({ type, id }) => [type, id]),
    ]);
  });
});
