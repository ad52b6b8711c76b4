/** A process can die at every operation of a run. Whatever it had shown to a client stays in the thread. */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlaceholder } from "../../src/history/result.js";
import {
  type CrashingRun,
  crashingThread,
  DURABILITIES,
  type Durability,
  USAGE,
} from "../support/crashing-thread.js";
import { operations, runs } from "../support/law-runs.js";
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

/**
 * Plays the runs, and one more that lives. Each message that was shown after a run is in the thread then, once and in
 * its place, every request to the model was valid, and the counters of the thread are those of its responses. Returns
 * how the first run ended.
 */
async function expectNothingLost(chosen: Durability, [first, ...others]: readonly CrashingRun[]) {
  const thread = crashingThread(chosen);
  await thread.send({ text: "hello" });
  const end = await thread.send(first ?? { text: null });
  const shown = [linesOf(await thread.read())];
  for (const [index, { text, ...run }] of others.entries()) {
    await thread.send({ ...run, text: text === null ? null : `${text} ${index}` });
    shown.push(linesOf(await thread.read()));
  }
  await thread.send({ text: "the end" });
  const lines = linesOf(pairedMessagesOf({ messages: await thread.read() }));
  for (const before of shown) expect(lines.filter((line) => before.includes(line))).toEqual(before);
  expect(lines.slice(-2)).toEqual(["human the end", "ai answer to the end"]);
  expect(new Set(lines).size).toBe(lines.length);
  expect(thread.refused).toEqual([]);
  const responses = (await thread.read()).filter(({ type }) => type === "ai");
  expect(await thread.usage()).toEqual({
    tokens: responses.length * USAGE.total_tokens,
    toolCalls: responses.flatMap(callIdsOf).length,
  });
  return end;
}

describe("nothing that was shown is lost", () => {
  const followers: readonly { next: string; runs: readonly CrashingRun[] }[] = [
    { next: "the next message", runs: [] },
    { next: "a run that continues it", runs: [{ text: null }] },
  ];
  const cases = DURABILITIES.flatMap((chosen) => followers.map((follower) => ({ chosen, ...follower })));

  it.each(cases)(
    "if a run dies at any operation, and $next follows ($chosen)",
    async ({ chosen, runs: rest }) => {
      let last = 0;
      for (const diesAt of operations()) {
        if ((await expectNothingLost(chosen, [{ text: "work", diesAt }, ...rest])) === "lived") break;
        last = diesAt;
      }
      expect(last).toBeGreaterThan(chosen === "exit" ? 10 : 30);
    },
  );

  it("if several runs die", async () => {
    const law = fc.asyncProperty(durability, diesAt, later, async (chosen, at, rest) => {
      await expectNothingLost(chosen, [{ text: "work", diesAt: at }, ...rest]);
    });
    await fc.assert(law, runs(30));
  });
});
