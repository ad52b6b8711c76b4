/**
 * A process can die at every operation of a run. Whatever it had shown to a client stays in the thread. A run with the
 * input `null` then finishes the turn: it uses what was saved, runs what was not started, and runs a call again only if
 * its tool may be replayed.
 */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlaceholder } from "../../src/history/result.js";
import {
  type CrashingRun,
  crashingThread,
  DURABILITIES,
  type Durability,
  SAFE_LABEL,
  USAGE,
} from "../support/crashing-thread.js";
import { callIdsOf } from "../support/strict-check.js";
import { dieAnywhere, law } from "../support/test-tools.js";
import { pairedMessagesOf } from "../support/thread.js";

type Thread = ReturnType<typeof crashingThread>;

/** A line for each message that a client has seen. Placeholders give way to results. */
const linesOf = (messages: readonly BaseMessage[]): string[] =>
  messages
    .filter((message) => !isPlaceholder(message))
    .map((message) => [message.type, message.text, ...callIdsOf(message)].join(" "));

/** Plays the runs. Returns how the first one ended, and what the thread showed after each. */
async function play(durability: Durability, runs: readonly CrashingRun[]) {
  const thread = crashingThread(durability);
  await thread.send({ text: "hello" });
  const ends: ("died" | "lived")[] = [];
  const shown: string[][] = [];
  for (const run of runs) {
    ends.push(await thread.send(run));
    shown.push(linesOf(await thread.read()));
  }
  return { thread, shown, end: ends[0] ?? "lived" };
}

/**
 * Plays one more run, which lives. Each message that was shown is in the thread then, once and in its place, every
 * request to the model was valid, and the counters of the thread are those of its responses.
 */
async function expectNothingLost(thread: Thread, shown: readonly string[][]): Promise<void> {
  await thread.send({ text: "the end" });
  const messages = pairedMessagesOf({ messages: await thread.read() });
  const lines = linesOf(messages);
  for (const before of shown) expect(lines.filter((line) => before.includes(line))).toEqual(before);
  expect(lines.slice(-2)).toEqual(["human the end", "ai answer to the end"]);
  expect(new Set(lines).size).toBe(lines.length);
  expect(thread.refused).toEqual([]);
  const responses = messages.filter(({ type }) => type === "ai");
  expect(await thread.usage()).toMatchObject({
    tokens: responses.length * USAGE.total_tokens,
    toolCalls: responses.flatMap(callIdsOf).length,
  });
}

const diesAt = fc.integer({ min: 1, max: 70 });

/** A run has more operations than this. */
const leastOf = (durability: Durability): number => (durability === "exit" ? 10 : 30);

describe("nothing that was shown is lost", () => {
  it.each(DURABILITIES)(
    "if a run dies at any operation, and the next message follows (%s)",
    async (chosen) => {
      await dieAnywhere(leastOf(chosen), async (diesAt) => {
        const { thread, shown, end } = await play(chosen, [{ text: "work", diesAt }]);
        await expectNothingLost(thread, shown);
        return end;
      });
    },
  );

  /** What follows a crash: the next message or a continuation. Each can die too. */
  const later = fc.array(
    fc.record({
      text: fc.constantFrom("work on", "thanks", null),
      diesAt: fc.option(diesAt, { nil: undefined }),
    }),
    { maxLength: 3 },
  );
  law(
    "if several runs die",
    30,
    [fc.constantFrom(...DURABILITIES), diesAt, later],
    async (chosen, first, rest) => {
      const others = rest.map(({ text, ...run }, index) => ({ ...run, text: text && `${text} ${index}` }));
      const { thread, shown } = await play(chosen, [{ text: "work", diesAt: first }, ...others]);
      await expectNothingLost(thread, shown);
    },
  );
});

const isSafe = (label: string): boolean => label.endsWith(`-${SAFE_LABEL}`);

/** The lines of the turn if nobody dies: the oracle. */
const whole: { readonly [durability in Durability]?: readonly string[] } = Object.fromEntries(
  await Promise.all(
    DURABILITIES.map(async (chosen) => [chosen, (await play(chosen, [{ text: "work" }])).shown[0]]),
  ),
);

/** Plays a run that dies, runs that continue it and die too, and one that lives. Returns how the first one ended. */
async function expectFinished(durability: Durability, deaths: readonly number[]) {
  const runs = deaths.map((diesAt, index) => ({ text: index === 0 ? "work" : null, diesAt }));
  const { thread, shown, end } = await play(durability, [...runs, { text: null }]);
  const messages = pairedMessagesOf({ messages: await thread.read() });
  const lines = linesOf(messages);
  // What was never saved is not in the thread, and nothing continues it.
  if (lines.includes("human work")) {
    const closed = messages
      .filter(isPlaceholder)
      .map((message) => String(Reflect.get(message, "tool_call_id")));
    const isOfClosed = (line: string) =>
      closed.some((label) => line.endsWith(` ${label}`) && !line.startsWith("ai"));
    if (durability !== "exit") expect(lines).toEqual(whole[durability]?.filter((line) => !isOfClosed(line)));
    for (const label of ["work-1", "work-2", "work-3", "work-4"]) {
      const begun = thread.begun.filter((one) => one === label).length;
      if (!isSafe(label)) expect(begun).toBeLessThanOrEqual(1);
      if (closed.includes(label)) expect(isSafe(label)).toBe(false);
      else expect(begun).toBeGreaterThanOrEqual(1);
    }
  }
  await expectNothingLost(thread, shown);
  return end;
}

describe("a run that continues finishes the turn of a run that died", () => {
  it.each(DURABILITIES)("at any operation (%s)", async (chosen) => {
    await dieAnywhere(leastOf(chosen), (diesAt) => expectFinished(chosen, [diesAt]));
  });

  const saved = fc.constantFrom("async" as const, "sync" as const);
  const deaths = fc.array(diesAt, { minLength: 1, maxLength: 5 });
  law("if the runs that continue it die too", 20, [saved, deaths], expectFinished);
});
