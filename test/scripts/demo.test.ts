import { readFile } from "node:fs/promises";
import type { Message } from "@langchain/langgraph-sdk";
import { afterAll, describe, expect, it } from "vitest";
import { checkPairs } from "../../scripts/demo/check-pairs.js";
import { compareThreads } from "../../scripts/demo/compare-threads.js";
import { NEXT_STEPS } from "../../scripts/demo/next-steps.js";
import { pictureOfDemo } from "../../scripts/demo-picture/picture-of-demo.js";
import { type RunningScript, runScript } from "./run-script.js";

const scripts: RunningScript[] = [];

function runDemo(): RunningScript {
  const script = runScript("demo.ts");
  scripts.push(script);
  return script;
}

afterAll(() => {
  for (const { child } of scripts) child.kill("SIGKILL");
});

const human = (content: string): Message => ({ type: "human", content });
const ai = (...ids: string[]): Message => ({
  type: "ai",
  content: ids.length === 0 ? "done" : "",
  tool_calls: ids.map((id) => ({ id, name: "look", args: {} })),
});
const result = (tool_call_id: string, content = "seen"): Message => ({ type: "tool", tool_call_id, content });

describe.concurrent("npm run demo", () => {
  it("plays its scenes, checks each, ends by itself, and leaves no process", async () => {
    const demo = runDemo();
    expect(await demo.ended).toBe(0);
    expect(demo.errors()).toBe("");
    const output = demo.output();
    for (const line of [
      "1. A plain LangGraph agent: a run is cancelled, and the thread is dead",
      '  → weather(city: "Reykjavik")',
      "  ✗ 400: An assistant message with 'tool_calls' must be followed by tool messages responding to",
      "    each 'tool_call_id'. The following tool_call_ids did not have response messages:",
      "  ✗ 400: the same error",
      "The server of the other agent, `langgraphjs dev`, starts meanwhile. It takes ten seconds or more:",
      "2. The same story with langgraph-tether: the thread goes on",
      "  ← calculator: 42",
      "  ✗ cancelled: the calculator is done, the weather is not",
      "  · calculator: its result was recovered from the earlier run",
      "  · weather: closed without a result, because a new message came before it finished",
      "- Reykjavik, Iceland: light drizzle, 4.2 °C, wind 38 km/h",
      "✓ checked: 3 calls in 2 groups,",
      "✓ checked: 2 calls in 2 groups,",
      "All checks passed",
    ]) {
      expect(output).toContain(`\n${line}`);
    }
    expect(output).toMatch(
      /\n\+ +3 {2}tool +calculator: 42 +recovered\n\+ +4 {2}tool .*placeholder: superseded\n/,
    );
    expect(output).toMatch(
      /\n- +tool .*placeholder: superseded\n\+ +4 {2}tool .*Reykjavik, Iceland.* late\n\+ 2 messages of the new turn\n/,
    );
    expect(output.match(/✓ checked/g)).toHaveLength(3);
    // What the server has reached when the first scene ends depends on the machine.
    expect(output).toMatch(/ or more:\n(?: *\d+ s {2}it.*\n)* *\d+ s {2}it runs\n\n2\. /);
    // `npx tsx scripts/write-demo-picture.ts` draws it. The ids of calls are new in each run.
    const withoutIds = (text: string) => text.replaceAll(/call_[0-9a-f]{20}/g, "call");
    for (const [name, form] of [
      ["demo", "wide"],
      ["demo-narrow", "narrow"],
    ] as const) {
      const picture = await readFile(`docs/pictures/${name}.svg`, "utf8");
      expect(withoutIds(pictureOfDemo(output, form))).toBe(withoutIds(picture));
    }
    expect(output.split("\n").length).toBeLessThan(110);
    expect(Math.max(...output.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(await demo.findProcesses()).toEqual([]);
  });

  it("names sections of the documents at its end", async () => {
    const places = NEXT_STEPS.flatMap(([, way]) => {
      const [, path, section] = /^(.*\.md), "(.*)"$/.exec(way) ?? [];
      return path === undefined || section === undefined ? [] : [{ path, section }];
    });
    expect(places.length).toBeGreaterThan(2);
    for (const { path, section } of places) {
      const text = await readFile(new URL(`../../${path}`, import.meta.url), "utf8");
      expect(text.includes(`\n## ${section}\n`), section).toBe(true);
    }
  });

  it("stops everything on Ctrl-C", async () => {
    const demo = runDemo();
    await demo.hasPrinted("2. The same story");
    demo.child.kill("SIGINT");
    expect(await demo.ended).toBe(130);
    expect(demo.errors()).toBe("\nStopped before the end.\n");
    expect(await demo.findProcesses()).toEqual([]);
  });
});

describe("checkPairs", () => {
  it.each<[title: string, messages: Message[], found: object]>([
    [
      "a paired thread",
      [human("hi"), ai("a", "b"), result("a"), result("b"), ai(), human("and"), ai("a"), result("a")],
      { groups: 2, calls: 3 },
    ],
    ["one whose last group lacks results", [human("hi"), ai("a", "b"), result("b")], { groups: 1, calls: 2 }],
  ])("counts the groups and calls of %s", (_title, messages, found) => {
    expect(checkPairs(messages)).toEqual(found);
  });

  it.each<[title: string, messages: Message[]]>([
    ["a call of a closed group without a result", [ai("a", "b"), result("a"), human("hi")]],
    ["results out of call order", [ai("a", "b"), result("b"), result("a"), human("hi")]],
    ["two results for one call", [ai("a"), result("a"), result("a"), human("hi")]],
    ["a result after another message", [ai("a"), human("hi"), result("a")]],
    ["a result without a call", [human("hi"), ai(), result("a")]],
    ["a result at the beginning", [result("a"), human("hi")]],
  ])("refuses %s", (_title, messages) => {
    expect(() => checkPairs(messages)).toThrow(/^Message \d is not paired: /);
  });
});

describe("compareThreads", () => {
  it("shows kept, added and removed messages, each in its place", () => {
    const before = [human("hi"), ai("a", "b"), result("a"), result("b", "nothing"), ai()];
    const after = [human("hi"), ai("a", "b"), result("a"), result("b", "late"), ai(), human("more")];
    const signs = compareThreads(before, after).map(({ kind, number }) => `${kind} ${number ?? ""}`.trim());
    expect(signs).toEqual(["kept 1", "kept 2", "kept 3", "removed", "added 4", "kept 5", "added 6"]);
  });
});
