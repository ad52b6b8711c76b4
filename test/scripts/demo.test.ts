import type { Message } from "@langchain/langgraph-sdk";
import { afterEach, describe, expect, it } from "vitest";
import { checkPairs } from "../../scripts/demo/check-pairs.js";
import { compareThreads } from "../../scripts/demo/compare-threads.js";
import { type RunningScript, runScript } from "./run-script.js";

const scripts: RunningScript[] = [];

function runDemo(): RunningScript {
  const script = runScript("demo.ts");
  scripts.push(script);
  return script;
}

afterEach(() => {
  for (const { child } of scripts.splice(0)) child.kill("SIGKILL");
});

const human = (content: string): Message => ({ type: "human", content });
const ai = (...ids: string[]): Message => ({
  type: "ai",
  content: ids.length === 0 ? "done" : "",
  tool_calls: ids.map((id) => ({ id, name: "look", args: {} })),
});
const result = (tool_call_id: string, content = "seen"): Message => ({ type: "tool", tool_call_id, content });

describe("npm run demo", () => {
  it("plays its scenes, checks each, ends by itself, and leaves no process", async () => {
    const demo = runDemo();
    expect(await demo.ended).toBe(0);
    expect(demo.errors()).toBe("");
    const output = demo.output();
    for (const line of [
      "1. Several tools in one message",
      '  → weather(city: "Paris")',
      "  ← calculator: 84",
      "  ✗ cancelled: the calculator is done, the weather of Reykjavik is not",
      "  · calculator: its result of the earlier run was found and kept",
      "  · weather: closed without a result, as a new message came before it finished",
      "- Reykjavik, Iceland: light drizzle, 4.2 °C, wind 38 km/h",
      "✓ checked: 3 calls in 1 group,",
      "✓ checked: 4 calls in 3 groups,",
      "All checks passed",
    ]) {
      expect(output).toContain(`\n${line}`);
    }
    expect(output).toMatch(
      /\n\+ +9 {2}tool +calculator: 42 +recovered\n\+ +10 {2}tool .*placeholder: superseded\n/,
    );
    expect(output).toMatch(
      /\n- +tool .*placeholder: superseded\n\+ +10 {2}tool .*Reykjavik, Iceland.* late\n/,
    );
    expect(output.match(/✓ checked/g)).toHaveLength(4);
    expect(Math.max(...output.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(await demo.findProcesses()).toEqual([]);
  });

  it("stops everything on Ctrl-C", async () => {
    const demo = runDemo();
    await demo.hasPrinted("1. Several tools");
    demo.child.kill("SIGINT");
    expect(await demo.ended).toBe(130);
    expect(demo.errors()).toBe("\nStopped before the end.\n");
    expect(await demo.findProcesses()).toEqual([]);
  });
});

describe("checkPairs", () => {
  it("counts the groups and calls of a paired thread", () => {
    const messages = [
      human("hi"),
      ai("a", "b"),
      result("a"),
      result("b"),
      ai(),
      human("and"),
      ai("a"),
      result("a"),
    ];
    expect(checkPairs(messages)).toEqual({ groups: 2, calls: 3 });
  });

  it("lets the group at the end lack results", () => {
    expect(checkPairs([human("hi"), ai("a", "b"), result("b")])).toEqual({ groups: 1, calls: 2 });
  });

  it.each<{ title: string; messages: Message[] }>([
    {
      title: "a call of a closed group without a result",
      messages: [ai("a", "b"), result("a"), human("hi")],
    },
    { title: "results out of call order", messages: [ai("a", "b"), result("b"), result("a"), human("hi")] },
    { title: "two results for one call", messages: [ai("a"), result("a"), result("a"), human("hi")] },
    { title: "a result behind another message", messages: [ai("a"), human("hi"), result("a")] },
    { title: "a result without a call", messages: [human("hi"), ai(), result("a")] },
    { title: "a result at the beginning", messages: [result("a"), human("hi")] },
  ])("refuses $title", ({ messages }) => {
    expect(() => checkPairs(messages)).toThrow(/^Message \d is not paired: /);
  });
});

describe("compareThreads", () => {
  it("tells what stayed, came and went, each in its place", () => {
    const before = [human("hi"), ai("a", "b"), result("a"), result("b", "nothing"), ai()];
    const after = [human("hi"), ai("a", "b"), result("a"), result("b", "late"), ai(), human("more")];
    const signs = compareThreads(before, after).map(({ kind, number }) => `${kind} ${number ?? ""}`.trim());
    expect(signs).toEqual(["kept 1", "kept 2", "kept 3", "removed", "added 4", "kept 5", "added 6"]);
  });
});
