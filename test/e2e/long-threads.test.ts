/** Long threads over the SDK: a server, and a client that reads, removes and restores. */

import { RemoteGraph } from "@langchain/langgraph/remote";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { coverageOf } from "../../src/history/summary.js";
import { readFullHistory, restoreCovered } from "../../src/index.js";
import { textOf } from "../support/long-histories.js";
import { inThread } from "../support/thread.js";
import { serve } from "./served.js";

type Kind = "keep" | "archive";

const server = serve();

/** What a client that moves an older thread here would send. */
const longInput = () => ({
  messages: Array.from({ length: 5 }, (_, turn) => [
    { role: "user", content: textOf(60, `question ${turn}`) },
    { role: "assistant", content: textOf(60, `you said que ${turn}`) },
  ])
    .flat()
    .concat([{ role: "user", content: textOf(60, "question 5") }]),
});

async function lead(kind: Kind) {
  const { thread_id } = await server.client.threads.create();
  await server.client.runs.wait(thread_id, kind, { input: longInput() });
  const state = async () =>
    (await server.client.threads.getState<{ messages: { id: string; content: string }[] }>(thread_id)).values;
  return { thread_id, state };
}

const expectTurns = (texts: readonly string[], turns: number) => {
  expect(texts.map((text) => text.slice(0, 12).trim())).toEqual(
    Array.from({ length: turns }, (_, turn) => [`question ${turn} w`, "you said que"]).flat(),
  );
};

const summariesOf = (values: { messages: unknown[] }) =>
  reduceMessages([], values.messages).messages.filter((message) => coverageOf(message) !== undefined);

describe.each<Kind>(["keep", "archive"])("Over the SDK, with covered messages set to %s", (kind) => {
  it("a thread is read back completely, and restored", async () => {
    const { thread_id, state } = await lead(kind);
    expect(summariesOf(await state())).toHaveLength(1);
    const remote = new RemoteGraph({ graphId: kind, client: server.client });
    const whole = await readFullHistory(remote, inThread(thread_id));
    expectTurns(
      whole.map(({ text }) => text),
      6,
    );
    const messages = await restoreCovered(remote, inThread(thread_id));
    await server.client.threads.updateState(thread_id, { values: { messages } });
    expect(summariesOf(await state())).toEqual([]);
    expectTurns(
      (await state()).messages.map(({ content }) => content),
      6,
    );
  });
});

it("The chat stream of the server has nothing of the summariser, its custom stream the event", async () => {
  const { thread_id } = await server.client.threads.create();
  const seen: string[] = [];
  const events: unknown[] = [];
  const stream = server.client.runs.stream(thread_id, "keep", {
    input: longInput(),
    streamMode: ["messages-tuple", "custom"],
  });
  for await (const { event, data } of stream) {
    if (event === "custom") events.push(data);
    if (event === "messages") seen.push(JSON.stringify(data));
  }
  expect(events).toContainEqual(expect.objectContaining({ type: "summary-made" }));
  expect(seen.join()).not.toContain("short summary");
});
