/**
 * A process can die at every operation of a run. A run with the input `null` then finishes the turn: it uses what was
 * saved, runs what was not started, and runs a call again only if its tool may be replayed.
 */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlaceholder } from "../../src/history/result.js";
import { crashingThread, type Durability, SAFE_LABEL } from "../support/crashing-thread.js";
import { operations, runs } from "../support/law-runs.js";
import { callIdsOf } from "../support/strict-check.js";
import { pairedMessagesOf } from "../support/thread.js";

const SAVED = ["async", "sync"] as const satisfies readonly Durability[];
const isSafe = (label: string): boolean => label.endsWith(`-${SAFE_LABEL}`);
const lineOf = (message: BaseMessage): string =>
  [message.type, message.text, ...callIdsOf(message)].join(" ");
const countOf = <Value>(values: readonly Value[], wanted: Value): number =>
  values.filter((value) => value === wanted).length;

/** The lines of the turn if nobody dies: the oracle. */
async function wholeTurn(durability: Durability): Promise<readonly string[]> {
  const thread = crashingThread(durability);
  for (const text of ["hello", "work"]) await thread.send({ text });
  return (await thread.read()).map(lineOf);
}

/**
 * Plays a run that dies, runs that continue it and die too, and one that lives. Returns how the first one ended.
 *
 * @param deaths The operations at which the runs die.
 */
async function expectFinished(durability: Durability, deaths: readonly number[]) {
  const thread = crashingThread(durability);
  await thread.send({ text: "hello" });
  const [first, ...later] = deaths;
  const end = await thread.send({ text: "work", diesAt: first });
  const shown = [(await thread.read()).filter((message) => !isPlaceholder(message)).map(lineOf)];
  for (const diesAt of later) {
    await thread.send({ text: null, diesAt });
    shown.push((await thread.read()).filter((message) => !isPlaceholder(message)).map(lineOf));
  }
  await thread.send({ text: null });
  const messages = pairedMessagesOf({ messages: await thread.read() });
  const lines = messages.filter((message) => !isPlaceholder(message)).map(lineOf);
  // What was never saved is not in the thread, and nothing continues it.
  if (!lines.includes("human work")) return end;

  const closed = messages
    .filter(isPlaceholder)
    .map((message) => String(Reflect.get(message, "tool_call_id")));
  const isOfClosed = (line: string) =>
    closed.some((label) => line.endsWith(` ${label}`) && !line.startsWith("ai"));
  expect(lines).toEqual((await wholeTurn(durability)).filter((line) => !isOfClosed(line)));
  for (const before of shown) expect(lines.filter((line) => before.includes(line))).toEqual(before);
  for (const label of ["work-1", "work-2", "work-3", "work-4"]) {
    const begun = countOf(thread.begun, label);
    if (isSafe(label)) expect(begun).toBeGreaterThanOrEqual(1);
    else expect(begun).toBeLessThanOrEqual(1);
    if (closed.includes(label)) expect(isSafe(label)).toBe(false);
    else expect(begun).toBeGreaterThanOrEqual(1);
  }
  expect(thread.refused).toEqual([]);
  return end;
}

describe("a run that continues finishes the turn of a run that died", () => {
  it.each(SAVED)("at any operation (%s)", async (durability) => {
    let last = 0;
    for (const diesAt of operations()) {
      if ((await expectFinished(durability, [diesAt])) === "lived") break;
      last = diesAt;
    }
    expect(last).toBeGreaterThan(30);
  });

  it("if the runs that continue it die too", async () => {
    const diesAt = fc.integer({ min: 1, max: 60 });
    const law = fc.asyncProperty(
      fc.constantFrom(...SAVED),
      fc.array(diesAt, { minLength: 1, maxLength: 5 }),
      async (durability, deaths) => void (await expectFinished(durability, deaths)),
    );
    await fc.assert(law, runs(20));
  });
});
