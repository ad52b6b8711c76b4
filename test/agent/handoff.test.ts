import { describe, expect, it } from "vitest";
import { Handoff, HandoffClosedError } from "../../src/agent/middleware/run-onion.js";
import { turns } from "../support/turns.js";

describe("a handoff", () => {
  it("resumes the giver only when the taker asks for the next value", async () => {
    const handoff = new Handoff<number>();
    const log: string[] = [];
    const giving = (async () => {
      for (const value of [1, 2]) {
        log.push(`give ${value}`);
        await handoff.give(value);
      }
      log.push("end");
      handoff.end();
    })();
    for await (const value of handoff.take()) {
      log.push(`take ${value}`);
      await turns();
      log.push(`leave ${value}`);
    }
    await giving;
    expect(log).toEqual(["give 1", "take 1", "leave 1", "give 2", "take 2", "leave 2", "end"]);
  });

  it("hands over an error after the values before it", async () => {
    const handoff = new Handoff<number>();
    const boom = new Error("boom");
    void handoff.give(1).then(() => handoff.fail(boom));
    const taken: number[] = [];
    const taking = (async () => {
      for await (const value of handoff.take()) taken.push(value);
    })();
    await expect(taking).rejects.toBe(boom);
    expect(taken).toEqual([1]);
  });

  it.each(["while the taker has a value", "when it failed before"])(
    "tells the giver that the taker has left, %s",
    async (when) => {
      const handoff = new Handoff<number>();
      if (when.startsWith("when")) handoff.fail(new Error("boom"));
      const giving = handoff.give(1);
      const leave = async () => {
        for await (const _ of handoff.take()) break;
      };
      await leave().catch(() => {});
      await expect(giving).rejects.toBeInstanceOf(HandoffClosedError);
      await expect(handoff.give(2)).rejects.toBeInstanceOf(HandoffClosedError);
    },
  );
});
