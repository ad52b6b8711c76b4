/** Waits for databases, and generators that are read ahead. */

import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answered, type Reader, untilAborted, whileWorking } from "../../src/shared/waiting.js";
import { turns } from "../support/async.js";

const never = () => new Promise<never>(() => {});

describe("A wait for a database", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("ends with the answer, and leaves no timer", async () => {
    const { signal } = new AbortController();
    await expect(answered(Promise.resolve("a"), { what: "The store", signal })).resolves.toBe("a");
    await expect(answered(Promise.reject(new Error("b")), { what: "The store" })).rejects.toThrow("b");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends after 30 seconds without an answer", async () => {
    const giveUp = vi.fn();
    const waiting = answered(never(), { what: "The store", giveUp }).catch(String);
    await vi.advanceTimersByTimeAsync(29_900);
    expect(giveUp).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(200);
    expect(await waiting).toBe(
      "Error: The store has not answered in time. What it was given to write can still arrive.",
    );
    expect(giveUp).toHaveBeenCalledTimes(1);
  });

  it.each(["before", "while"])("ends five seconds after the abort of its run (%s it waits)", async (when) => {
    const run = new AbortController();
    if (when === "before") run.abort();
    const waiting = answered(never(), { what: "The store", signal: run.signal }).catch(() => "given up");
    await vi.advanceTimersByTimeAsync(1_000);
    run.abort();
    await vi.advanceTimersByTimeAsync(5_100);
    expect(await waiting).toBe("given up");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("has one listener with others of the same run, and leaves none", async () => {
    const { signal } = new AbortController();
    const answers: (() => void)[] = [];
    const waits = Array.from({ length: 20 }, () =>
      answered(new Promise<void>((resolve) => answers.push(resolve)), { what: "The store", signal }),
    );
    const calls = Promise.all(waits.map((wait) => untilAborted(wait, signal)));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    for (const answer of answers) answer();
    await calls;
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("takes an answer that was there while other work held the process up", async () => {
    const waiting = answered(new Promise((resolve) => setTimeout(resolve, 29_500, "late")), { what: "It" });
    await vi.advanceTimersByTimeAsync(31_000);
    expect(await waiting).toBe("late");
  });
});

/** Work that gives three numbers, and what it has done so far. */
function createWork(failure?: Error) {
  const log: string[] = [];
  const work = async ({ give }: Reader<number>): Promise<void> => {
    for (const item of [1, 2, 3]) {
      await Promise.resolve();
      log.push(`made ${item}`);
      give(item);
    }
    if (failure !== undefined) throw failure;
    log.push("ended");
  };
  return { log, items: whileWorking(work) };
}

describe("Work as a generator", () => {
  it("begins with the first item that is asked for", async () => {
    const { log } = createWork();
    await turns();
    expect(log).toEqual([]);
  });

  it("ends although nobody reads on, and gives all items to a reader that is slow", async () => {
    const { log, items } = createWork();
    const first = await items.next();
    await turns();
    expect(log).toEqual(["made 1", "made 2", "made 3", "ended"]);
    const read: unknown[] = [first.value];
    for await (const item of items) {
      await turns();
      read.push(item);
    }
    expect(read).toEqual([1, 2, 3]);
  });

  it("throws its error after its items", async () => {
    const { items } = createWork(new Error("no"));
    const read: number[] = [];
    const reading = async () => {
      for await (const item of items) {
        await turns();
        read.push(item);
      }
    };
    await expect(reading()).rejects.toThrow("no");
    expect(read).toEqual([1, 2, 3]);
  });

  it("knows that its reader has left, which waits for its end and not for its error", async () => {
    const log: string[] = [];
    let release = () => {};
    const items = whileWorking<number>(async ({ give, hasLeft }) => {
      give(1);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      log.push(`left: ${hasLeft()}`);
      throw new Error("nobody reads this");
    });
    await items.next();
    const returned = items.return(undefined).then(() => log.push("returned"));
    await turns();
    expect(log).toEqual([]);
    release();
    await returned;
    expect(log).toEqual(["left: true", "returned"]);
  });
});
