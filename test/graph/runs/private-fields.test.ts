/** No stream mode carries what is private to the graph: its own channels, and the fields of its tasks. */

import { MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { approve, asInput, countingTools } from "../../support/approval-graph.js";
import { calls, scripted } from "../../support/scripted-model.js";

const MODES = ["values", "updates", "messages", "custom", "tools", "tasks", "checkpoints", "debug"] as const;
type Mode = (typeof MODES)[number];
const PRIVATE = /"(turn|summaryAttempt|threadUsage|place|parseError|messageId|__tether_run|toolCalls)"/;

const input = { messages: [{ role: "user", content: "go" }] };

function threadOf() {
  const { tools } = countingTools();
  const batch = calls(["free", { label: "1" }], ["risky", { label: "2" }]);
  const model = scripted(batch, calls(["free", { label: "3" }]), "the end");
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model, tools, requireApproval: ["risky"], checkpointer });
  return { graph, config: { configurable: { thread_id: "1" } } };
}

type Case = readonly [what: string, streamMode: Mode | Mode[], more: object];

const cases: readonly Case[] = [
  ...MODES.flatMap((mode): Case[] => [
    [mode, mode, {}],
    [`${mode} in a list`, [mode], {}],
    [`${mode} with subgraphs`, mode, { subgraphs: true }],
  ]),
  ["all modes", [...MODES], {}],
  ["all modes with subgraphs", [...MODES], { subgraphs: true }],
  ["all modes as server-sent events", [...MODES], { encoding: "text/event-stream" }],
];

const textOf = (chunk: unknown) =>
  chunk instanceof Uint8Array ? Buffer.from(chunk).toString() : (JSON.stringify(chunk) ?? "");

it.each(cases)("%s", async (_what, streamMode, more) => {
  const { graph, config } = threadOf();
  const seen: string[] = [];
  for (const sent of [input, asInput({ resume: { decisions: [approve] } })]) {
    for await (const chunk of await graph.stream(sent, { ...config, ...more, streamMode })) {
      seen.push(textOf(chunk));
    }
  }
  expect(seen.filter((text) => PRIVATE.test(text.replaceAll('\\"', '"')))).toEqual([]);
  const modes = [streamMode].flat();
  if (modes.includes("tasks") || modes.includes("debug"))
    expect(seen.join("\n").replaceAll('\\"', '"')).toMatch(
      /"type":"tool_call","id":"call_\d+","name":"free"/,
    );
});

it.each(["v1", "v2"] as const)("events of version %s", async (version) => {
  const { graph, config } = threadOf();
  const seen: string[] = [];
  for (const sent of [input, asInput({ resume: { decisions: [approve] } })]) {
    for await (const event of graph.streamEvents(sent, { ...config, version })) seen.push(textOf(event));
  }
  expect(seen.length).toBeGreaterThan(10);
  expect(seen.filter((text) => PRIVATE.test(text))).toEqual([]);
});

// LangGraph ends a run with such events after its first chunk, so it has one step.
it.each(["v1", "v2"] as const)("events of version %s as server-sent events", async (version) => {
  const graph = createAgentGraph({ model: scripted("the end") });
  const seen: string[] = [];
  const events = graph.streamEvents(input, { version, encoding: "text/event-stream" } as { version: "v2" });
  for await (const event of events) seen.push(textOf(event).replaceAll('\\"', '"'));
  expect(seen.join("")).toContain("the end");
  expect(seen.filter((text) => PRIVATE.test(text))).toEqual([]);
});
