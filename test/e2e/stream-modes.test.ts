/** Each stream mode of the server, alone and with all others, with and without subgraphs; and the newer protocol. */

import type { StreamMode } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { messagesOf, pairedScript, user } from "../support/thread.js";
import { serve } from "./served.js";

const served = serve();

const MODES = [
  "values",
  "messages",
  "messages-tuple",
  "updates",
  "custom",
  "tools",
  "tasks",
  "checkpoints",
  "debug",
  "events",
] as const satisfies readonly StreamMode[];
const PRIVATE = /"(turn|summaryAttempt|place|parseError|messageId|__tether_run)"/;

const input = user('call heedful {"label": "s1"} and call heedful {"label": "s2"}');
const SCRIPT = [
  expect.stringMatching(/^human: call heedful/),
  "ai> heedful heedful",
  "tool: heedful done s1",
  "tool: heedful done s2",
  expect.stringMatching(/^ai: /),
];

/** What the server calls the events of a mode. */
const eventOf = (mode: (typeof MODES)[number]) => (mode === "messages-tuple" ? "messages" : mode);

async function streamed(graph: string, streamMode: StreamMode[], streamSubgraphs: boolean) {
  const thread = await served.thread(graph);
  const parts = [];
  for await (const part of served.client.runs.stream(thread.id, graph, {
    input,
    streamMode,
    streamSubgraphs,
  }))
    parts.push(part as { readonly event: string; readonly data: unknown });
  return { parts, script: await thread.script() };
}

const cases = (["probe", "parent", "plain_parent"] as const).flatMap((graph) =>
  [false, true].flatMap((subgraphs) => [
    ...(graph === "probe" ? MODES.map((mode) => ({ graph, subgraphs, name: mode, modes: [mode] })) : []),
    { graph, subgraphs, name: "all modes", modes: [...MODES] },
  ]),
);

describe.concurrent("the stream of a run", () => {
  it.each(cases)("of $graph with $name, subgraphs $subgraphs", async ({ graph, subgraphs, modes }) => {
    const { parts, script } = await streamed(graph, modes, subgraphs);
    expect(parts.filter(({ event }) => event.startsWith("error"))).toEqual([]);
    expect(script).toEqual(SCRIPT);
    const events = new Set(parts.map(({ event }) => event.split(/[|/]/)[0]));
    for (const mode of modes) {
      // What a graph does inside another one is told to those who ask for subgraphs.
      const isTold = graph === "probe" || subgraphs || !["custom", "tools"].includes(mode);
      if (isTold) expect([...events]).toContain(eventOf(mode));
    }
    // The events of a parent are its own.
    const own = graph === "probe" ? parts : parts.filter(({ event }) => event !== "events");
    expect(own.filter(({ data }) => PRIVATE.test(JSON.stringify(data)))).toEqual([]);
  });
});

it("The newer protocol streams a run, and its messages are those of the thread", async () => {
  const thread = await served.thread("probe");
  const stream = served.client.threads.stream(thread.id, { assistantId: "probe" });
  try {
    await stream.run.start({ input });
    const texts: string[] = [];
    for await (const message of stream.messages) texts.push(await message.text);
    const output = await stream.output;
    expect(pairedScript(output)).toEqual(SCRIPT);
    expect(texts.filter((text) => text !== "")).toEqual([messagesOf(output).at(-1)?.text]);
  } finally {
    await stream.close();
  }
  expect(await thread.script()).toEqual(SCRIPT);
});
