/** A process can die at every operation of a run. Whatever it had shown to a client stays in the thread. */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlaceholder } from "../../src/history/messages/result.js";
import { crashingThread, DURABILITIES } from "../support/crashing-thread.js";
import { runs } from "../support/law-runs.js";
import { callIdsOf } from "../support/strict-check.js";
import { pairedMessagesOf } from "../support/thread.js";

const OPERATIONS = 70;

const durability = fc.constantFrom(...DURABILITIES);
const diesAt = fc.integer({ min: 1, max: OPERATIONS });
/** What follows a crash: the next message or a continuation. Each can die too. */
const later = fc.array(
  fc.record({
    text: fc.constantFrom("work on", "thanks", null),
    diesAt: fc.option(diesAt, { nil: undefined }),
  }),
  { maxLength: 3 },
);

/** A line for each message that a client has seen. Placeholders give way to results. */
const linesOf = (messages: readonly BaseMessage[]): string[] =>
  messages
    .filter((message) => !isPlaceholder(message))
    .map((message) => [message.type, message.text, ...callIdsOf(message)].join(" "));

describe("a thread whose runs die", () => {
  it("keeps each message that was shown, once and in its place, and every request to the model is valid", async () => {
    const law = fc.asyncProperty(durability, diesAt, later, async (chosen, at, followers) => {
      const thread = crashingThread(chosen);
      await thread.send({ text: "hello" });
      const shown: string[][] = [];
      for (const [index, { text, ...run }] of [{ text: "work", diesAt: at }, ...followers].entries()) {
        await thread.send({ ...run, text: text === null ? null : `${text} ${index}` });
        shown.push(linesOf(await thread.read()));
      }
      await thread.send({ text: "the end" });
      const lines = linesOf(pairedMessagesOf({ messages: await thread.read() }));
      for (const before of shown) expect(lines.filter((line) => before.includes(line))).toEqual(before);
      expect(lines.slice(-2)).toEqual(["human the end", "ai answer to the end"]);
      expect(new Set(lines).size).toBe(lines.length);
      expect(thread.refused).toEqual([]);
    });
    await fc.assert(law, runs(60));
  });
});
