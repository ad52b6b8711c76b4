/** A message can be put into the inbox at any moment, and the process can die at any moment. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DURABILITIES, type Durability } from "../support/crashing-thread.js";
import { type SteeredRun, steeredCrashes } from "../support/steering.js";
import { dieAnywhere, law } from "../support/test-tools.js";
import { pairedMessagesOf } from "../support/thread.js";

const OPERATIONS = 90;

const durability = fc.constantFrom(...DURABILITIES);
const batches = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 });
const operation = fc.integer({ min: 1, max: OPERATIONS });
const arrivals = fc.array(operation, { maxLength: 6 });
const removes = fc.option(fc.nat(5), { nil: undefined });
const run = fc.record({
  text: fc.constantFrom("work", "hello", undefined, null),
  arrivals,
  diesAt: fc.option(operation, { nil: undefined }),
  removes,
});

/** Plays the runs, and then runs that live until the inbox is empty. */
async function expectEachOnce(chosen: Durability, sizes: readonly number[], played: readonly SteeredRun[]) {
  const thread = steeredCrashes(chosen, sizes);
  await thread.play({ text: "hello", arrivals: [] });
  let hasDied = false;
  for (const one of played) hasDied = (await thread.play(one)).hasDied || hasDied;
  await thread.play({ text: "the end", arrivals: [] });
  const lines = pairedMessagesOf({ messages: await thread.read() }).map(({ text }) => text);
  const steered = lines.filter((line) => line.startsWith("steered"));
  expect(steered).toEqual(thread.sent.filter((text) => !thread.removed.includes(text)));
  expect(lines.at(-1)).toMatch(/^answer/);
  expect(await thread.inbox()).toEqual([]);
  expect(thread.refused).toEqual([]);
  return hasDied ? "died" : "lived";
}

describe("each steered message is in the thread once and in order, and every request is paired", () => {
  const moments = fc.array(operation, { maxLength: 12 });
  law(
    "whenever it arrives in a run of random batches",
    40,
    [durability, batches, moments],
    (chosen, sizes, arrivals) => expectEachOnce(chosen, sizes, [{ text: "work", arrivals }]),
  );

  it.each(DURABILITIES)("if the process dies at any operation (%s)", async (chosen) => {
    await dieAnywhere(chosen === "exit" ? 15 : 25, (diesAt) =>
      expectEachOnce(chosen, [2, 1], [{ text: "work", arrivals: [4, 12, 22], diesAt, removes: 0 }]),
    );
  });

  it("if a message is recovered, and removed before its item is deleted", async () => {
    // The first run dies with the message in the writes of an unfinished step, the second one after it is recovered.
    let recovered = 0;
    for (let first = 22; first < 26; first += 1) {
      for (let second = 6; second < 12; second += 1) {
        const thread = steeredCrashes("async", [1]);
        await thread.play({ text: "work", arrivals: [8], diesAt: first });
        await thread.play({ text: "hello", arrivals: [], diesAt: second, removes: 0 });
        if (thread.removed.length > 0 && (await thread.inbox()).length > 0) recovered += 1;
        await thread.play({ text: "the end", arrivals: [] });
        const texts = (await thread.read()).map(({ text }) => text);
        const isThere = texts.includes("steered 000");
        expect([first, second, isThere]).toEqual([first, second, thread.removed.length === 0]);
      }
    }
    expect(recovered).toBeGreaterThan(0);
  });

  const played = fc.array(run, { maxLength: 4 });
  law(
    "if several runs die, and messages are removed between them",
    60,
    [durability, batches, played],
    expectEachOnce,
  );
});
