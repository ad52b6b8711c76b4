/** What this library writes into messages: derived ids, placeholders and summaries. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES as LANGGRAPH_REMOVE_ALL } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { deriveId, deriveUnusedId, isDerivedId, REMOVE_ALL_MESSAGES } from "../../src/history/message.js";
import {
  callIdOf,
  createPlaceholder,
  isPlaceholder,
  isResult,
  PLACEHOLDER_KEY,
  type PlaceholderCause,
} from "../../src/history/result.js";
import { type Coverage, coverageOf, createSummary } from "../../src/history/summary.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { ai, human, placeholder, result } from "../support/make-messages.js";

describe("Derived ids do not change between versions, because stored threads have them:", () => {
  const call = { id: "call_1", name: "weather", args: { city: "Zürich" } };
  const resultOf = (content: string) => new ToolMessage({ content, tool_call_id: "call_1", name: "weather" });

  it.each<[title: string, message: BaseMessage, first: string, second: string]>([
    [
      "a human message",
      new HumanMessage("hello"),
      "6790b49072b3f257345947469fca51e9",
      "e5cc189bd983179b6be723b7796ddf9d",
    ],
    [
      "a text with half a pair of surrogates",
      new HumanMessage("Grüße \ud800 日本"),
      "ad099e67d432ecc370dce3a08a28e9b7",
      "f8608d2b779a3b623a5b045f26c5dd9e",
    ],
    [
      "a message with a call",
      new AIMessage({ content: "", tool_calls: [call] }),
      "b57b071922903ea7337091c329aca914",
      "d31a31443efe2fc89cbfefa32e6d3f5b",
    ],
    ["a result", resultOf("18 °C"), "b060c4949bcee6dc3dcd4f91e10bf964", "0e2cf6566e2806ce5982f07ecda92312"],
  ])("%s", (_title, message, first, second) => {
    expect([deriveId(message, "m1"), deriveId(message, "m1", 1)]).toEqual([first, second]);
    expect(deriveUnusedId(message, "m1", (id) => id === first)).toBe(second);
  });

  it("calls in a request", () => {
    const message = new AIMessage({ id: "m1", content: "", tool_calls: [call, call] });
    const history = [new HumanMessage("Weather?"), message, resultOf("1"), resultOf("2")];
    const ids = toModelInput(history, { dialect: "mistral" }).flatMap((sent) => {
      if (ToolMessage.isInstance(sent)) return [sent.tool_call_id];
      return AIMessage.isInstance(sent) ? (sent.tool_calls ?? []).map(({ id }) => id) : [];
    });
    expect(ids).toEqual(["670bfad12", "a0ea5b3ce", "670bfad12", "a0ea5b3ce"]);
  });
});

it("The id that removes all messages is LangGraph's.", () => {
  expect(REMOVE_ALL_MESSAGES).toBe(LANGGRAPH_REMOVE_ALL);
});

const call = { id: "c1", name: "search", kind: "valid" } as const;
const place = "a";

describe("A placeholder says only what is known, to the byte", () => {
  const UNKNOWN = "It may or may not have taken effect.";

  it.each<[PlaceholderCause, string, string]>([
    ["unrecorded", `no result was recorded for it. ${UNKNOWN}`, "unknown"],
    ["superseded", `a new message came before it finished. ${UNKNOWN}`, "unknown"],
    ["interrupted", `the run ended before it finished. ${UNKNOWN}`, "unknown"],
    ["invalid-arguments", "its arguments were not valid JSON, so it was not run.", "not-started"],
    ["timed-out", `it did not finish in the time allowed. ${UNKNOWN}`, "unknown"],
    ["declined", "it was not approved, so it was not run.", "not-started"],
    ["not-started", "its run ended before it was started, so it was not run.", "not-started"],
    ["failed", `it failed before it could return a result. ${UNKNOWN}`, "failed"],
  ])("%s", (cause, text, outcome) => {
    expect(createPlaceholder(call, cause, place)).toMatchObject({
      content: `Tool call search (c1): ${text}`,
      tool_call_id: "c1",
      name: "search",
      status: "error",
      additional_kwargs: { tether_placeholder: cause, tether_outcome: outcome },
    });
    const nameless = createPlaceholder({ id: "", name: "", kind: "valid" }, cause, place);
    expect(nameless.content).toBe(`Tool call (unnamed) (no id): ${text}`);
  });
});

describe("The id of a placeholder", () => {
  const idOf = (...args: Parameters<typeof createPlaceholder>) => createPlaceholder(...args).id;

  it("names place, cause and call, and is known as an id of this library", () => {
    expect([
      idOf(call, "unrecorded", place),
      idOf(call, "unrecorded", "b"),
      idOf({ ...call, id: "c2" }, "unrecorded", place),
      idOf(call, "superseded", place),
    ]).toEqual([
      "placeholder:a:unrecorded:c1",
      "placeholder:b:unrecorded:c1",
      "placeholder:a:unrecorded:c2",
      "placeholder:a:superseded:c1",
    ]);
    const ids = [idOf(call, "unrecorded", place), "call_1", undefined];
    expect(ids.map(isDerivedId)).toEqual([true, false, false]);
  });

  it("is saved with it", () => {
    const message = createPlaceholder(call, "unrecorded", place);
    expect(JSON.parse(JSON.stringify(message)).kwargs.id).toBe(message.id);
  });
});

it("A result is recognised by its type, and a placeholder by its mark", () => {
  const messages = [result("t", "c"), placeholder("p", "c"), ai("a", "c"), human("h")];
  expect(messages.map(isResult)).toEqual([true, true, false, false]);
  expect(messages.slice(0, 3).map((message) => isPlaceholder(message))).toEqual([false, true, false]);
  expect(PLACEHOLDER_KEY).toBe("tether_placeholder");
});

it("The id of the answered call is blank if the result names none", () => {
  expect(callIdOf(result("t", "c"))).toBe("c");
  expect(callIdOf(Object.assign(result("t", "c"), { tool_call_id: 7 }))).toBe("");
});

describe("A result that another program made up counts as a placeholder:", () => {
  const ofChat = { id: "do-not-render-7", content: "Successfully handled tool call.", tool_call_id: "c1" };
  const cancelled = (name: string, id: string) =>
    `Tool call ${name} with id ${id} was cancelled - another message came in before it could be completed.`;
  const ofDeepAgents = { name: "pay", content: cancelled("pay", "c1"), tool_call_id: "c1" };

  it.each<[title: string, fields: object, isMadeUp: boolean]>([
    ["of agent-chat-ui", ofChat, true],
    ["not with another id", { ...ofChat, id: "7" }, false],
    ["not without an id", { ...ofChat, id: undefined }, false],
    ["not with another text", { ...ofChat, content: "Successfully handled." }, false],
    ["of deepagents", ofDeepAgents, true],
    ["not about another call", { ...ofDeepAgents, content: cancelled("pay", "c2") }, false],
    ["not about another tool", { ...ofDeepAgents, content: cancelled("look", "c1") }, false],
    ["not with more text", { ...ofDeepAgents, content: `It says: ${cancelled("pay", "c1")}` }, false],
  ])("%s", (_title, fields, isMadeUp) => {
    expect(isPlaceholder(new ToolMessage(fields as typeof ofChat))).toBe(isMadeUp);
  });
});

const keep: Coverage = { kind: "keep", messages: ["a", "b"] };
const archive: Coverage = { kind: "archive", checkpoint: "c", messages: ["a"], calls: ["c"], unanswered: [] };

describe("A summary", () => {
  it("is a human message with the ecosystem's mark, and names what it covers", () => {
    const summary = createSummary("$& {x} `y`", keep);
    expect(summary).toBeInstanceOf(HumanMessage);
    expect(summary.content).toBe("$& {x} `y`");
    expect(summary.additional_kwargs).toEqual({ lc_source: "summarization", tether_coverage: keep });
  });

  it.each([keep, archive])("has a coverage that is read back: $kind", (coverage) => {
    const summary = createSummary("text", coverage);
    expect(coverageOf(summary)).toEqual(coverage);
    const saved = JSON.parse(JSON.stringify(summary)).kwargs;
    expect(coverageOf(new HumanMessage(saved))).toEqual(coverage);
  });

  it("has an id that hides it in chat UIs, and equal summaries have the same id", () => {
    const { id } = createSummary("what was said", keep);
    expect(id).toMatch(/^do-not-render-[\da-f]{32}$/);
    expect(createSummary("what was said", keep).id).toBe(id);
    expect(createSummary("something else", keep).id).not.toBe(id);
    expect(createSummary("what was said", { ...keep, messages: ["other"] }).id).not.toBe(id);
  });
});

describe("Other messages cover nothing:", () => {
  const marked = (tether_coverage: unknown, lc_source: unknown = "summarization") => ({
    content: "text",
    additional_kwargs: { lc_source, tether_coverage },
  });
  const list = { kind: "archive", checkpoint: "c", messages: [], calls: [] };

  it.each<[title: string, message: BaseMessage]>([
    ["a human message", human("h")],
    ["a human message without the mark", new HumanMessage(marked(keep, null))],
    ["an AI message with the mark", new AIMessage(marked(keep))],
    ...Object.entries<unknown>({
      "a summary that does not name what it covers": undefined,
      "a summary that names it in another format": { kind: "keep", messages: [7] },
      "a list with a gap": { kind: "keep", messages: new Array(1) },
      "a last message that is not an id": { kind: "keep", messages: [], asOf: null },
      "an archive without a checkpoint": { ...list, checkpoint: undefined },
      "unanswered calls that are not a list of ids": { ...list, unanswered: [1] },
      "an archive that names no calls": { kind: "archive", checkpoint: "c", messages: [] },
      "an unknown kind": { kind: "other", messages: [] },
    }).map(([title, coverage]): [string, BaseMessage] => [title, new HumanMessage(marked(coverage))]),
  ])("%s", (_title, message) => {
    expect(coverageOf(message)).toBeUndefined();
  });
});
