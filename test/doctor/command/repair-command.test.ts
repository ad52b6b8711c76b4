import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openReceipt, type ReceiptEntry } from "../../../src/doctor.js";
import { ai, human } from "../../support/make-messages.js";
import { undone } from "../repair.js";
import { GRAPH, makeDatabase, makeFolder, readState, run } from "./command-line.js";

describe("repair", () => {
  it("prints the plan and writes nothing without --apply", async () => {
    const { folder, path, over } = await makeDatabase();
    const before = readFileSync(path);
    const { code, output } = await over(["repair"]);
    expect(code).toBe(1);
    expect(output).toContain("2 threads would be repaired. 2 threads need no repair. Nothing was written.");
    expect(output).toContain("close: A result is written for the call of `weather`: a new message came");
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(folder).filter((name) => name.endsWith(".jsonl"))).toEqual([]);
  });

  it("writes with --apply, keeps the other channels, and undo restores each message", async () => {
    const { folder, path, over } = await makeDatabase();
    const messagesOf = async (id: string) => JSON.stringify((await readState(path, id))["messages"]);
    const before = await Promise.all(["2-dangling", "3-orphan"].map(messagesOf));

    const applied = await over(["repair", "--apply", "--yes"]);
    expect(applied.code).toBe(0);
    expect(applied.output).toContain("2 threads were repaired. 2 threads need no repair.");
    const receipt = "tether-receipt-20260131T120000Z.jsonl";
    expect(applied.output).toContain(`undo ${receipt}`);
    const { messages, todos } = await readState(path, "2-dangling");
    expect([messages.map(({ type }: { type: string }) => type), todos]).toEqual([
      ["human", "ai", "tool", "human"],
      ["todo of 2-dangling"],
    ]);
    expect((await over(["doctor"])).output).toContain("4 threads are sound.");
    const again = await over(["repair", "--apply", "--yes", "--receipt", "again.jsonl"]);
    expect([again.code, existsSync(join(folder, "again.jsonl"))]).toEqual([0, false]);

    const unasked = await run(["undo", receipt, "--graph", GRAPH], { folder });
    expect(unasked.errors).toBe("Nobody can be asked here, so undo needs --yes.\n");
    const undone = await run(["undo", receipt, "--graph", GRAPH, "--yes"], { folder });
    expect([undone.code, undone.errors]).toEqual([0, ""]);
    expect(await Promise.all(["2-dangling", "3-orphan"].map(messagesOf))).toEqual(before);
    const twice = await run(["undo", receipt, "--graph", GRAPH, "--yes"], { folder });
    expect(twice.output).toContain("0 threads were restored.");
  });

  const MANY = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [
      `t${index}`,
      [human("h"), ai("a", "c"), human("i")] as readonly BaseMessage[],
    ]),
  );

  /** Aborts after this many messages were written down before a write. */
  function interruptAfter(count: number, folder: string, receipt: string) {
    const interrupted = new AbortController();
    const intents = () =>
      existsSync(join(folder, receipt)) ? readFileSync(join(folder, receipt), "utf8").split("\n").length : 0;
    const now = () => {
      if (intents() > 2 * count) interrupted.abort();
      return 0;
    };
    return { signal: interrupted.signal, now };
  }

  it("names what was not changed, if it is interrupted after all was read", async () => {
    const { folder, over, jsonOver } = await makeDatabase(MANY);
    const args = ["repair", "--apply", "--receipt", "r.jsonl"];
    const errors = { isTerminal: true, write: async () => {} };
    const answering = { canAsk: true, ask: async () => "y", errors };
    const { code, output } = await over(args, { ...answering, ...interruptAfter(3, folder, "r.jsonl") });
    expect(code).toBe(1);
    const [, repaired = 0] = /(\d+) threads were repaired/.exec(output)?.map(Number) ?? [];
    const [, left = 0] =
      /It was interrupted\. (\d+) threads were not changed: t\d+, /.exec(output)?.map(Number) ?? [];
    expect([repaired + left, repaired > 0, left > 0]).toEqual([20, true, true]);
    expect(output).toContain("others. Run the command again");
    expect(output).not.toContain("Not everything was read");
    const rest = await jsonOver(["repair", "--apply", "--yes", "--receipt", "s.jsonl"]);
    expect(rest.counts).toMatchObject({ repaired: left, nothing: repaired });
  });

  it("says that not everything was read, if it is interrupted before", async () => {
    const { folder, over } = await makeDatabase(MANY);
    const errors = { isTerminal: true, write: async () => {} };
    const args = ["repair", "--apply", "--yes", "--receipt", "r.jsonl"];
    const { output } = await over(args, { errors, ...interruptAfter(3, folder, "r.jsonl") });
    expect(output.replaceAll(/\s+/g, " ")).toMatch(
      /Not everything was read\. It was interrupted\. · What was not read was not changed\. Run the command again for it\./,
    );
  });

  it("asks on a terminal, and writes nothing unless the answer is yes", async () => {
    const { folder, over, jsonOver } = await makeDatabase();
    const questions: string[] = [];
    const answering = (answer: string) => ({
      canAsk: true,
      ask: async (question: string) => {
        questions.push(question);
        return answer;
      },
    });
    const refused = await over(["repair", "--apply"], answering(""));
    expect([refused.code, questions]).toEqual([1, ["Write 2 threads of sqlite:threads.db? [y/N] "]]);
    expect(refused.output).toMatch(/Nothing was written\.\n$/);
    expect(readdirSync(folder).filter((name) => name.endsWith(".jsonl"))).toEqual([]);
    const told = await jsonOver(["repair", "--apply"], answering("n"));
    expect(told).toMatchObject({
      code: 1,
      outcome: "left",
      counts: { planned: 2, repaired: 0 },
      receipt: null,
      threads: [
        { threadId: "2-dangling", outcome: "planned", steps: [{ kind: "close", callId: "c1" }] },
        { threadId: "3-orphan", outcome: "planned" },
      ],
    });
    const agreed = await jsonOver(["repair", "--apply"], answering("y"));
    expect([agreed.code, agreed.threads.length]).toEqual([0, 2]);
  });

  it("never overwrites a receipt", async () => {
    const { folder, over } = await makeDatabase();
    writeFileSync(join(folder, "r.jsonl"), "mine");
    const { code, errors } = await over(["repair", "--apply", "--yes", "--receipt", "r.jsonl"]);
    expect([code, readFileSync(join(folder, "r.jsonl"), "utf8")]).toEqual([2, "mine"]);
    expect(errors).toBe(
      "The receipt r.jsonl exists already. A receipt is never overwritten: choose another name.\n",
    );
  });

  it("names the receipt that cannot be written any more", async () => {
    const { folder, path, jsonOver } = await makeDatabase();
    const before = JSON.stringify(await readState(path, "2-dangling"));
    const file = await open(join(folder, "other"), "w");
    const full = new Error("ENOSPC: no space left on device, write");
    const appendFile = vi.spyOn(Object.getPrototypeOf(file), "appendFile").mockRejectedValue(full);
    onTestFinished(() => appendFile.mockRestore());
    await file.close();
    const { code, stopped } = await jsonOver(["repair", "--apply", "--yes", "--receipt", "r.jsonl"]);
    expect([code, stopped]).toEqual([1, `The receipt r.jsonl cannot be written: ${full.message}`]);
    expect(JSON.stringify(await readState(path, "2-dangling"))).toBe(before);
  });

  it("prints JSON of a fixed shape, without any text of messages", async () => {
    const { over } = await makeDatabase();
    const args = ["repair", "--format", "json", "--apply", "--yes", "--receipt", "r.jsonl"];
    const { output } = await over(args);
    expect(output).not.toMatch(/fish|18 degrees/);
    expect(JSON.parse(output)).toEqual({
      schemaVersion: 1,
      target: "sqlite:threads.db",
      applied: true,
      outcome: "done",
      counts: {
        ...{
          threads: 4,
          planned: 0,
          repaired: 2,
          nothing: 2,
          otherGraph: 0,
          otherMessages: 0,
          otherChannel: 0,
          skipped: 0,
          waiting: 0,
        },
        ...{ unreadable: 0, subgraphs: 0, moved: 0, failed: 0 },
      },
      missing: [],
      stopped: null,
      receipt: "r.jsonl",
      threads: [
        {
          threadId: "2-dangling",
          namespace: "",
          checkpointId: expect.any(String),
          outcome: "repaired",
          reason: null,
          error: null,
          newCheckpointId: expect.any(String),
          steps: [
            {
              kind: "close",
              messageId: null,
              callId: "c1",
              tool: "weather",
              from: null,
              to: 2,
              description: expect.any(String),
            },
          ],
          unplaced: [],
        },
        expect.objectContaining({
          threadId: "3-orphan",
          unplaced: [expect.objectContaining({ callId: "c9" })],
        }),
      ],
    });
  });

  it("lists some of many steps as text, and all in JSON", async () => {
    const calls = Array.from({ length: 30 }, (_, index) => `c${index}`);
    const { over, jsonOver } = await makeDatabase({ long: [ai("a", ...calls), human("h")] });
    const text = await over(["repair"]);
    expect(text.output.match(/close: /g)).toHaveLength(20);
    expect(text.output).toContain("… and 10 more steps\n");
    expect((await jsonOver(["repair"])).threads[0].steps).toHaveLength(30);
  });
});

it("explain says offline, in the words of the provider, why a list is refused", async () => {
  const list = [
    { role: "user", content: "The secret word is fish" },
    { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] },
    { role: "user", content: "Hello?" },
  ];
  const explain = (given: unknown, ...args: string[]) =>
    run(["explain", "-", "--dialect", ...args], { readInput: async () => JSON.stringify(given) });
  const { code, output } = await explain(list, "anthropic");
  expect(code).toBe(1);
  for (const words of [
    "Why it happens, and what to do: docs/troubleshooting.md#missing-result",
    "`tool_use` ids were found without `tool_result` blocks immediately after: c1",
  ])
    expect(output).toContain(words);
  expect(output).not.toContain("fish");
  const json = await explain(list, "anthropic", "--format", "json");
  expect(JSON.parse(json.output)).toMatchObject({ schemaVersion: 1, dialect: "anthropic", refused: true });
  expect((await explain({ values: { messages: list.slice(0, 1) } }, "openai")).code).toBe(0);
  expect(JSON.parse((await explain(list, "auto", "--format", "json")).output).dialect).toBe("as-stored");
  for (const unread of [{ contents: list }, { prompt: "Hello" }]) {
    const errors = "Expected standard input to be a list of messages or what getState returned.\n";
    expect(await explain(unread, "gemini")).toMatchObject({ code: 2, output: "", errors });
  }
  const parts = [{ role: "user", parts: [{ text: "fish" }] }];
  const unknown = expect.stringMatching(
    /^Expected `messages\[0\]` to be a message .* The form is unknown\.\n$/,
  );
  expect(await explain(parts, "gemini")).toMatchObject({ code: 2, output: "", errors: unknown });
});

/*
 * Receipts that somebody has edited, that are cut, or that cannot be written.
 */

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
  const results = rest.filter((line) => line.includes('"kind":"result"'));
  const onlyResult = await undoWith(`${[first.slice(0, -20), ...results].join("\n")}\n`);
  expect([onlyResult.code, onlyResult.output]).toEqual([1, "The receipt has no repairs.\n"]);
});

it("A plan that came too late is not taken back", async () => {
  const { lines } = await makeRepaired();
  const entries: ReceiptEntry[] = lines.map((line) => JSON.parse(line));
  const late = entries.map((entry) =>
    entry.kind === "result" ? { ...entry, outcome: "moved" as const } : entry,
  );
  const refuse = () => Promise.reject(new Error("Nothing is to be read."));
  const store = { read: refuse, write: refuse, threads: refuse };
  expect(await undone(store as never, late)).toEqual([]);
});

it.skipIf(process.platform !== "linux")(
  "A receipt on a full disk fails before the thread is written",
  async () => {
    const receipt = await openReceipt("/dev/full");
    await expect(receipt.append({} as ReceiptEntry)).rejects.toThrow("ENOSPC");
    await receipt.close();
  },
);
