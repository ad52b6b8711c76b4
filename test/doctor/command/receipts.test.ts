/** Receipts that somebody has edited, that are cut, or that cannot be written. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openReceipt, type ReceiptEntry, undo } from "../../../src/doctor.js";
import { makeDatabase, makeFolder, readState, run } from "./command-line.js";

/** A database whose two broken threads were repaired, and the lines of the receipt. */
async function makeRepaired() {
  const { folder, path, over } = await makeDatabase();
  expect((await over(["repair", "--apply", "--yes", "--receipt", "r.jsonl"])).code).toBe(0);
  const lines = readFileSync(join(folder, "r.jsonl"), "utf8").trimEnd().split("\n");
  const typesOf = async (id: string) => {
    const { messages } = await readState(path, id);
    return messages.map(({ type }: { type: string }) => type);
  };
  const undoWith = (text: string) => {
    writeFileSync(join(folder, "r.jsonl"), text);
    return over(["undo", "r.jsonl", "--yes"]);
  };
  return { lines, typesOf, undoWith };
}

it("An edited receipt restores no thread whose messages were edited", async () => {
  const { lines, typesOf, undoWith } = await makeRepaired();
  const { code, output } = await undoWith(lines.join("\n").replace("The secret word", "Another word"));
  expect([code, output]).toEqual([1, expect.stringContaining("1 thread was restored. 1 thread was not.")]);
  expect(output).toContain("The messages in the receipt are not those");
  expect(await typesOf("2-dangling")).toEqual(["human", "ai", "tool", "human"]);
  expect(await typesOf("3-orphan")).toEqual(["tool", "human"]);
});

it("A receipt of a target with a password does not name it, so the command asks for it", async () => {
  const { lines, undoWith } = await makeRepaired();
  const folder = makeFolder();
  const target = "postgresql://me:***@127.0.0.1:9/x";
  writeFileSync(join(folder, "r.jsonl"), lines.join("\n").replaceAll("sqlite:threads.db", target));
  expect(await run(["undo", "r.jsonl", "--yes"], { folder })).toEqual({
    code: 2,
    output: "",
    errors: `Name the target of the receipt, which is ${target}: see undo --help.\n`,
  });
  const named = await undoWith(lines.join("\n").replaceAll("sqlite:threads.db", target));
  expect([named.code, named.errors]).toEqual([
    0,
    `The receipt was written for ${target}, and this is sqlite:threads.db.\n`,
  ]);
});

it("A damaged line is named, and a torn last line is not", async () => {
  const { lines, typesOf, undoWith } = await makeRepaired();
  const [first = "", ...rest] = lines;
  const torn = await undoWith(`${lines.join("\n")}\n${first.slice(0, 80)}`);
  expect([torn.code, torn.errors]).toEqual([0, ""]);
  const damaged = await undoWith(`${[first.slice(0, -20), ...rest].join("\n")}\n`);
  expect([damaged.code, damaged.errors]).toEqual([
    1,
    "The receipt r.jsonl is damaged: 1 line cannot be read (1). Threads that only they name are not restored.\n",
  ]);
  expect(await typesOf("3-orphan")).toEqual(["tool", "human"]);
});

it("A plan that came too late is not taken back", async () => {
  const { lines } = await makeRepaired();
  const entries: ReceiptEntry[] = lines.map((line) => JSON.parse(line));
  const late = entries.map((entry) =>
    entry.kind === "result" ? { ...entry, outcome: "moved" as const } : entry,
  );
  const store = { read: () => Promise.reject(new Error("Nothing is to be read.")) };
  const outcomes = [];
  for await (const outcome of undo(store as never, late)) outcomes.push(outcome);
  expect(outcomes).toEqual([]);
});

it.skipIf(process.platform !== "linux")(
  "A receipt on a full disk fails before the thread is written",
  async () => {
    const receipt = await openReceipt("/dev/full");
    await expect(receipt.append({} as ReceiptEntry)).rejects.toThrow("ENOSPC");
    await receipt.close();
  },
);
