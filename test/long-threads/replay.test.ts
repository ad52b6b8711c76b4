/**
 * Conversations shaped as recorded ones, in one thread, are replayed through the graph with a small budget.
 * `SLOW_TESTS=1` replays a thousand messages.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, type ReadPageOptions, readFullHistory } from "../../src/index.js";
import { countToolTokens, coverageOf, isUserMessage, visibleHistory } from "../support/internals.js";
import { squeeze } from "../support/long-histories.js";
import { FunctionModel } from "../support/models.js";
import { outline } from "../support/plain-messages.js";
import { realCount, withRealUsage } from "../support/real-counts.js";
import { type RecordedMessage, recordedConversations } from "../support/recorded-conversations.js";
import { transcriptsOf } from "../support/run-summarize.js";
import { inThread, messagesOf } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

const PROMPT = "You help customers of an airline.";
const BUDGET = 2500;

/** The first conversations that have this many messages together; calls without a result are left out. */
function linesOf(count: number): RecordedMessage[] {
  const lines: RecordedMessage[] = [];
  for (const messages of recordedConversations) {
    if (lines.length >= count) break;
    lines.push(...messages.filter(({ role }) => role !== "system"));
    while (lines.at(-1)?.tool_calls !== undefined) lines.pop();
    if (lines.at(-1)?.role !== "assistant") lines.push({ role: "assistant", content: "(the end)" });
  }
  return lines;
}

function toMessage({ content, tool_calls = [] }: RecordedMessage): AIMessage {
  return new AIMessage({
    content: content ?? "",
    tool_calls: tool_calls.map(({ id, function: { name, arguments: text } }) => ({
      id,
      name,
      args: JSON.parse(text),
    })),
  });
}

async function replay(lines: readonly RecordedMessage[], coveredMessages: "keep" | "archive") {
  const answers = lines.filter(({ role }) => role === "assistant");
  const results = lines.filter(({ role }) => role === "tool");
  const names = new Set(
    answers.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.name)),
  );
  let played = 0;
  const tools = [...names].map((name) =>
    makeTool(name, async () => results[played++]?.content ?? "", z.looseObject({})),
  );
  const toolTokens = countToolTokens(tools);
  const model = new FunctionModel(({ index, messages }) => {
    const answer = answers[index];
    if (answer === undefined) return new Error("there is no more");
    return withRealUsage(toMessage(answer), messages, toolTokens);
  });
  const summariser = new FunctionModel(({ index }) => `What was agreed so far, number ${index}.`);
  const settings = { systemPrompt: PROMPT, maxTokensBeforeSummary: BUDGET, messagesToKeep: 6 };
  const graph = createAgentGraph({
    model,
    tools,
    summaryModel: summariser,
    coveredMessages,
    ...(coveredMessages === "archive" && { checkpointer: new MemorySaver() }),
    ...settings,
  });
  let messages: BaseMessage[] = [];
  for (const { role, content } of lines) {
    if (role !== "user") continue;
    const said = { role: "user", content };
    const input = coveredMessages === "archive" ? [said] : [...messages, said];
    messages = messagesOf(await graph.invoke({ messages: input } as never, inThread("replay")));
  }
  const readAll = (options?: ReadPageOptions) =>
    readFullHistory(
      coveredMessages === "archive" ? graph : { getState: async () => ({ values: { messages } }) },
      inThread("replay"),
      options,
    );
  return { model, summariser, messages, toolTokens, readAll };
}

const KINDS = (["archive", "keep"] as const).map(
  (kind) => [kind, process.env["SLOW_TESTS"] === "1" ? 1000 : 250] as const,
);

describe.each(KINDS)("A thread of recorded conversations with `coveredMessages: %s`", (kind, count) => {
  const lines = linesOf(count);
  const replayed = replay(lines, kind);

  it("is a long thread that uses ids again", () => {
    const ids = lines.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
    expect(lines.length).toBeGreaterThanOrEqual(count);
    expect(new Set(ids).size).toBeLessThan(ids.length);
  });

  it("never has an invalid model input, and always the current request", async () => {
    const { model } = await replayed;
    expect(model.refused).toEqual([]);
    let request = "";
    let asked = 0;
    for (const { role, content } of lines) {
      if (role === "user") request = content ?? "";
      if (role !== "assistant") continue;
      const texts = model.requests[asked]?.messages.map(({ text }) => text);
      expect(texts?.some((text) => text.includes(request))).toBe(true);
      asked += 1;
    }
    expect(model.requests).toHaveLength(asked);
  });

  it("sends more than the budget only if the request and the last group alone exceed it", async () => {
    const { model, toolTokens } = await replayed;
    const over = model.requests.filter(({ messages }) => realCount(messages) + toolTokens > BUDGET);
    for (const { messages } of over) {
      const head = messages.findLastIndex(({ type }) => type !== "tool");
      const request = messages.findLast(isUserMessage);
      const least = messages.filter(
        (message, index) => index >= head || message === request || message.type === "system" || index === 1,
      );
      expect(realCount(least) + toolTokens).toBeGreaterThan(BUDGET * 0.9);
    }
    expect(over.length).toBeLessThan(20);
  });

  it("loses nothing: all of it is read back, word for word and in order", async () => {
    const { messages, readAll } = await replayed;
    const history = await readAll();
    expect(history.map(({ text }) => text)).toEqual(
      lines.map(({ role, content }) => content || (role === "tool" ? "(no output)" : "")),
    );
    const pages: BaseMessage[] = [];
    while (pages.length < history.length) {
      const before = pages[0]?.id;
      pages.unshift(...(await readAll({ limit: 30, before })));
    }
    expect(outline(pages)).toBe(outline(history));
    expect(messages.filter((message) => coverageOf(message) !== undefined).length).toBeGreaterThan(0);
    if (kind === "archive") expect(messages.length).toBeLessThan(60);
  });

  it("showed the summariser all that is covered, with few calls", async () => {
    const { summariser, messages, readAll } = await replayed;
    const shown = squeeze(transcriptsOf(summariser).join(""));
    const visible = new Set(visibleHistory(messages).rest.map(({ id }) => id));
    const history = await readAll();
    const covered = history.filter(({ id }) => !visible.has(id));
    for (const { text } of covered) expect(shown).toContain(squeeze(text));
    expect(summariser.requests.length).toBeGreaterThan(lines.length / 50);
    expect(summariser.requests.length).toBeLessThan(lines.length / 4);
  });
});
