import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { GRAPH, makeDatabase, readState, run } from "./command-line.js";

describe("repair", () => {
  it("prints the plan and writes nothing without --apply", async () => {
    const { folder, path, over } = await makeDatabase();
    const before = readFileSync(path);
    const { code, output } = await over(["repair"]);
    expect(code).toBe(1);
    expect(output).toContain("2 threads would be repaired. 2 threads need no repair. Nothing was written.");
    expect(output).toContain("close: A result is written for the call of `weather`, which has none.");
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

    const undone = await run(["undo", receipt, "--graph", GRAPH, "--yes"], { folder });
    expect([undone.code, undone.errors]).toEqual([0, ""]);
    expect(await Promise.all(["2-dangling", "3-orphan"].map(messagesOf))).toEqual(before);
    const twice = await run(["undo", receipt, "--graph", GRAPH, "--yes", "--thread", "3-orphan"], { folder });
    expect(twice.output).toContain("0 threads were restored.");
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
    const agreed = await jsonOver(["repair", "--apply"], answering("y"));
    expect(agreed.code).toBe(0);
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
        threads: 4,
        planned: 0,
        repaired: 2,
        nothing: 2,
        otherGraph: 0,
        skipped: 0,
        waiting: 0,
        unreadable: 0,
        subgraphs: 0,
        moved: 0,
        failed: 0,
      },
      unlistedSteps: 0,
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

  it("lists some of many steps, and counts the others", async () => {
    const calls = Array.from({ length: 30 }, (_, index) => ({ id: `c${index}`, name: "look", args: {} }));
    const { over, jsonOver } = await makeDatabase({
      long: [
        new AIMessage({ id: "a", content: "", tool_calls: calls }),
        new HumanMessage({ id: "h", content: "?" }),
      ],
    });
    const text = await over(["repair"]);
    expect(text.output.match(/close: /g)).toHaveLength(20);
    expect(text.output).toContain("… and 10 more steps\n");
    const { threads, unlistedSteps } = await jsonOver(["repair", "--max-findings", "4"]);
    expect([threads[0].steps.length, unlistedSteps]).toEqual([4, 26]);
  });
});

describe("explain", () => {
  const list = [
    { role: "user", content: "The secret word is fish" },
    { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] },
    { role: "user", content: "Hello?" },
  ];

  it("says offline, in the words of the provider, why a list is refused", async () => {
    const readInput = async () => JSON.stringify(list);
    const text = await run(["explain", "-", "--dialect", "anthropic"], { readInput });
    expect(text.output).toContain("Why it happens, and what to do: docs/troubleshooting.md#missing-result");
    expect(text.code).toBe(1);
    expect(text.output).toContain(
      "`tool_use` ids were found without `tool_result` blocks immediately after: c1",
    );
    expect(text.output).not.toContain("fish");
    const json = await run(["explain", "-", "--dialect", "anthropic", "--format", "json"], { readInput });
    expect(JSON.parse(json.output)).toMatchObject({ schemaVersion: 1, dialect: "anthropic", refused: true });
    const sound = async () => JSON.stringify({ values: { messages: list.slice(0, 1) } });
    expect((await run(["explain", "-", "--dialect", "openai"], { readInput: sound })).code).toBe(0);
  });
});
