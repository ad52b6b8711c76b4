import type { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { graph as build } from "../../server/agent.js";
import { pairedMessagesOf, user } from "../support/thread.js";

/** A request that the offline model answers with this many calls of the calculator at once. */
const sums = (count: number) =>
  user(Array.from({ length: count }, (_, index) => `call calculator {"input": "${index}+1"}`).join(" and "));

const isRun = (text: string) => /^\d+$/.test(text);

describe("The served graph", () => {
  it.each([
    [64, 64],
    [65, 0],
    [500, 0],
  ])("is asked for %i calls in one message and runs %i", async (count, expected) => {
    const messages = pairedMessagesOf(await (await build()).invoke(sums(count)));
    const asked = messages.find((message) => message.type === "ai") as AIMessage;
    const results = messages.filter(({ type }) => type === "tool");
    expect(results.filter(({ text }) => isRun(text))).toHaveLength(expected);
    expect(asked.tool_calls?.length ?? 0).toBe(results.length);
    expect(messages.at(-1)).toMatchObject({ type: "ai" });
    expect(messages.at(-1)?.text).not.toBe("");
  });
});
