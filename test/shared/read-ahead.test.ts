import { describe, expect, it } from "vitest";
import { readAhead } from "../../src/shared/waiting.js";
import { turns } from "../support/turns.js";

function createSource(failure?: Error) {
  const log: string[] = [];
  const source = async function* () {
    try {
      for (const item of [1, 2, 3]) {
        await Promise.resolve();
        log.push(`made ${item}`);
        yield item;
      }
      if (failure !== undefined) throw failure;
    } finally {
      log.push("ended");
    }
  };
  return { log, items: source() };
}

const ALL = ["made 1", "made 2", "made 3", "ended"];

describe("A generator that is read ahead", () => {
  it("ends although nobody reads", async () => {
    const { log, items } = createSource();
    readAhead(items);
    await turns();
    expect(log).toEqual(ALL);
  });

  it("gives all items to a reader that comes late, or is slow", async () => {
    const { log, items } = createSource();
    const ahead = readAhead(items);
    await turns();
    expect(log).toEqual(ALL);
    const read: number[] = [];
    for await (const item of ahead) {
      await turns();
      read.push(item);
    }
    expect(read).toEqual([1, 2, 3]);
  });

  it("throws its error after its items", async () => {
    const { items } = createSource(new Error("no"));
    const ahead = readAhead(items);
    await turns();
    const read: number[] = [];
    const reading = async () => {
      for await (const item of ahead) read.push(item);
    };
    await expect(reading()).rejects.toThrow("no");
    expect(read).toEqual([1, 2, 3]);
  });

  it("is closed by a reader that returns early", async () => {
    const log: string[] = [];
    let release = () => {};
    const source = async function* () {
      try {
        yield 1;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        yield 2;
        log.push("went on");
      } finally {
        log.push("closed");
      }
    };
    const ahead = readAhead(source());
    await ahead.next();
    const returned = ahead.return(undefined);
    release();
    await returned;
    expect(log).toEqual(["closed"]);
  });
});
