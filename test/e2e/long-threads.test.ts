/** Long threads over the SDK: a server, and a client that reads, removes and restores. */

import { RemoteGraph } from "@langchain/langgraph/remote";
import { describe, expect, it } from "vitest";
import { readFullHistory, restoreCovered } from "../../src/index.js";
import { coverageOf, reduceMessages } from "../support/internals.js";
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

describe("An archive on the server", () => {
  const said = (turn: number | string) => ({ role: "user", content: textOf(60, `question ${turn}`) });

  /** The first words of the user in the whole conversation of a thread, and whether a summary has archived some of them. */
  async function read(threadId: string, checkpoint?: string) {
    const at = { thread_id: threadId, ...(checkpoint !== undefined && { checkpoint_id: checkpoint }) };
    const lost: unknown[] = [];
    const remote = new RemoteGraph({ graphId: "archive", client: server.client });
    const onMissing = (missing: unknown) => void lost.push(missing);
    const whole = await readFullHistory(remote, { configurable: at }, { onMissing });
    expect(lost).toEqual([]);
    return whole.flatMap(({ type, text }) => (type === "human" ? [text.split(" ", 2).join(" ")] : []));
  }
  const turnOf = async (threadId: string, turn: number | string, options: object = {}) =>
    void (await server.client.runs.wait(threadId, "archive", {
      input: { messages: [said(turn)] },
      ...options,
    }));
  const asked = (...turns: (number | string)[]) => turns.map((turn) => `question ${turn}`);

  it("goes with a copy of the thread, and stays there when the thread is deleted", async () => {
    const { threads } = server.client;
    const { thread_id } = await threads.create();
    for (let turn = 0; turn < 8; turn += 1) await turnOf(thread_id, turn);
    const { values } = await threads.getState<{ messages: unknown[] }>(thread_id);
    expect(summariesOf(values).map((message) => coverageOf(message)?.kind)).toEqual(["archive"]);
    const copy = Object(await threads.copy(thread_id)).thread_id;
    await threads.delete(thread_id);
    expect(await read(copy)).toEqual(asked(0, 1, 2, 3, 4, 5, 6, 7));
    await turnOf(copy, 8);
    expect(await read(copy)).toEqual(asked(0, 1, 2, 3, 4, 5, 6, 7, 8));
  });

  it("belongs to its branch, after a fork and an edit of the past", async () => {
    const { threads } = server.client;
    const { thread_id } = await threads.create();
    for (const turn of [0, 1]) await turnOf(thread_id, turn);
    const { checkpoint, values } = await threads.getState<{ messages: { id: string }[] }>(thread_id);
    for (const turn of [2, 3, 4, 5]) await turnOf(thread_id, turn);
    const left = (await threads.getState(thread_id)).checkpoint.checkpoint_id ?? "";
    const edited = { ...said("edited"), id: values.messages[0]?.id };
    const { checkpoint: forked } = Object(
      await threads.updateState(thread_id, { values: { messages: [edited] }, checkpoint }),
    );
    let from = forked.checkpoint_id;
    for (const turn of ["x", "y", "z", "u"]) {
      await turnOf(thread_id, turn, { checkpointId: from });
      from = (await threads.getState(thread_id)).checkpoint.checkpoint_id;
    }
    expect(await read(thread_id)).toEqual(asked("edited", 1, "x", "y", "z", "u"));
    expect(await read(thread_id, left)).toEqual(asked(0, 1, 2, 3, 4, 5));
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
