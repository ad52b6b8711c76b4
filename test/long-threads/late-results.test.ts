/**
 * A tool that ignores the abort of its run ends some turns later. Its result is found for as long as without a summary,
 * whatever was summarised since, and once.
 */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAgentGraph, readFullHistory } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { eachOf, turns } from "../support/async.js";
import { EVENT_CHANNEL } from "../support/internals.js";
import { calls, FunctionModel, shortSummariser } from "../support/models.js";
import { abortRun, titled } from "../support/test-tools.js";
import { pairedMessagesOf, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

type Channel = "full" | "delta";
type Covered = "keep" | "archive" | "none";

interface Shared {
  readonly model: FunctionModel;
  readonly summaryModel: FunctionModel;
  readonly tools: object[];
  readonly checkpointer: MemorySaver;
}

interface Agent {
  invoke(input: object, config: object): Promise<unknown>;
  readonly graph: Parameters<typeof readFullHistory>[0] & {
    getState(config: object): Promise<{ values: unknown }>;
  };
}

/** The agent of a thread for one turn. @param covered What becomes of covered messages. */
type OpenAgent = (shared: Shared, covered: Covered, channel: Channel) => Agent;

/** Each turn is summarised when the next one has begun. */
const LIMITS = { maxMessagesBeforeSummary: 2, messagesToKeep: 1 };

const AGENTS: Readonly<Record<"createAgentGraph" | "tetherMiddleware", OpenAgent>> = {
  createAgentGraph: ({ summaryModel, ...shared }, coveredMessages, messagesChannel) => {
    const summaries = coveredMessages === "none" ? {} : { ...LIMITS, coveredMessages, summaryModel };
    const graph = createAgentGraph({ ...shared, ...summaries, messagesChannel } as never);
    return { invoke: (input, config) => graph.invoke(input as never, config), graph: graph as never };
  },
  tetherMiddleware: ({ summaryModel, ...shared }, coveredMessages, channel) => {
    const summary = coveredMessages === "none" ? undefined : { ...LIMITS, coveredMessages, summaryModel };
    const middleware = [tetherMiddleware(summary && { summary })];
    const stateSchema = tetherState({ delta: channel === "delta" });
    const agent = createAgent({ ...shared, middleware, stateSchema } as never);
    return { invoke: (input, config) => agent.invoke(input as never, config), graph: agent.graph as never };
  },
};

let threads = 0;
/** The events of all threads. The ids of their calls are unique. */
const told: { readonly type: string; readonly callId?: string }[] = [];
const listen = (event: unknown) => void told.push(event as (typeof told)[number]);
beforeAll(() => subscribe(EVENT_CHANNEL, listen));
afterAll(() => void unsubscribe(EVENT_CHANNEL, listen));

const tellings = (type: string, callId: string) =>
  told.filter((event) => event.type === type && event.callId === callId).length;

const LATE = "deaf done";
const countIn = (messages: readonly BaseMessage[] = []) =>
  messages.filter(({ text }) => text.includes(LATE)).length;

/**
 * Plays a thread whose first run is cancelled in two tools, of which one ends later.
 *
 * @param covered What becomes of covered messages, turn by turn. The last one also counts for later turns.
 * @param between The number of turns before the tool ends.
 * @returns Whether the next turn tells a model of it, and how often it was recovered and is in the whole thread some
 * turns later.
 */
async function play(open: OpenAgent, covered: readonly Covered[], channel: Channel, between: number) {
  threads += 1;
  const threadId = `late-${threads}`;
  const callId = `deaf-${threads}`;
  const config = { configurable: { thread_id: threadId }, durability: "sync" };
  const probe = createProbe();
  const never = makeTool("never", () => new Promise(() => {}));
  const shared = {
    model: new FunctionModel(({ messages }) =>
      messages.at(-1)?.text === "call" ? calls(["deaf", {}, callId], ["never"]) : "Yes.",
    ),
    summaryModel: shortSummariser(),
    tools: [probe.deaf, never],
    checkpointer: new MemorySaver(),
  };
  let turn = 0;
  const agent = () => open(shared, covered[turn] ?? covered.at(-1) ?? "none", channel);
  const models = [shared.model, shared.summaryModel];
  const send = async () => {
    const before = models.map(({ requests }) => requests.length);
    await agent().invoke(user(`Question ${turn}`), config);
    turn += 1;
    // The next summary can already cover it.
    const requests = models.flatMap((model, index) => model.requests.slice(before[index]));
    return requests.filter(({ messages }) => countIn(messages) > 0).length;
  };
  await abortRun(
    (signal) => agent().invoke(user("call"), { ...config, signal }),
    () => probe.hasBegun(1),
  );
  await turns();
  for (let done = 0; done < between; done += 1) await send();
  probe.release();
  await expect.poll(() => tellings("result-late", callId), { interval: 5 }).toBe(1);
  await turns();
  const seen = (await send()) > 0;
  for (let more = 0; more < 3; more += 1) await send();
  const { graph } = agent();
  pairedMessagesOf((await graph.getState(config)).values);
  expect(shared.model.refused).toEqual([]);
  const summaries = shared.summaryModel.requests.length;
  const whole = countIn(await readFullHistory(graph, config as never));
  return { seen, whole, recovered: tellings("result-recovered", callId), summaries };
}

const ROWS = Object.entries(AGENTS).flatMap(([name, open]) =>
  (["full", "delta"] as const).map((channel) => ({ title: `${name}, ${channel}`, open, channel })),
);
/** After the last of these numbers of turns, nobody looks for it any more. */
const TURNS = [0, 1, 2, 3, 4, 5, 6, 7];

describe.each(titled(ROWS))("A late result, %s,", (_, { open, channel }) => {
  it.each<[title: string, covered: readonly Covered[]]>([
    ["without summaries", ["none"]],
    ["that summaries keep", ["keep"]],
    ["that summaries archive", ["archive"]],
    ["that summaries keep, then archive", ["keep", "keep", "keep", "archive"]],
    ["that summaries archive, then keep, then archive", ["archive", "archive", "keep", "keep", "archive"]],
  ])("is found once for some turns, %s", async (_title, covered) => {
    const found = await eachOf(TURNS, (between) => play(open, covered, channel, between), 4);
    expect(found.map(({ seen }) => seen)).toEqual(TURNS.map((between) => between < 7));
    const once = TURNS.map((between) => (between < 7 ? 1 : 0));
    expect(found.map(({ whole }) => whole)).toEqual(once);
    expect(found.map(({ recovered }) => recovered)).toEqual(once);
    const made = found.map(({ summaries }) => summaries);
    if (covered[0] === "none") expect(made).toEqual(TURNS.map(() => 0));
    else expect(Math.min(...made)).toBeGreaterThan(1);
  });
});
