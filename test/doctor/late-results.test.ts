/** The doctor reads diaries: what it says will be recovered is what the next run recovers, and what a repair puts in. */

import { subscribe } from "node:diagnostics_channel";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createGraphStore } from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { deferred } from "../../src/shared/waiting.js";
import { diaryWritten, EVENT_CHANNEL, nextHistoryOf } from "../support/internals.js";
import { abortRun } from "../support/test-tools.js";
import { inThread, pairedMessagesOf, script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";
import { repair } from "./repair.js";

const config = inThread("1");

async function withLateResult({ isClosed }: { readonly isClosed: boolean }) {
  const probe = createProbe();
  const graph = createAgentGraph({ model: "offline:", tools: [probe.deaf], checkpointer: new MemorySaver() });
  const send = (text: string, more = {}) => graph.invoke(user(text), { ...config, ...more });
  await abortRun(
    (signal) => send("call deaf", { signal }),
    () => probe.hasBegun(1),
  );
  if (isClosed) await send("hello");
  const end = async () => {
    const { promise: late, resolve } = deferred<void>();
    subscribe(EVENT_CHANNEL, () => resolve());
    probe.release();
    await late;
    await diaryWritten("1");
  };
  const store = createGraphStore({ graph, quietMs: 0 });
  const place = { store, ref: { threadId: "1", namespace: "" } };
  const read = async () => script(pairedMessagesOf((await graph.getState(config)).values));
  return { send, end, place, read, thread: () => store.read(place.ref) };
}

describe.each([
  { isClosed: false, title: "that came before the next message" },
  { isClosed: true, title: "whose call has a placeholder" },
])("a late result $title", ({ isClosed }) => {
  it("is told by the doctor as the next run recovers it", async () => {
    const { send, end, thread, read } = await withLateResult({ isClosed });
    const before = nextHistoryOf(await thread());
    expect([...before.added.values()]).not.toContain("recovered");
    await end();
    const { messages, added } = nextHistoryOf(await thread());
    expect([...added].filter(([, kind]) => kind === "recovered").map(([message]) => message.text)).toEqual([
      "deaf done -",
    ]);
    await send("and now");
    const told = script(messages).slice(0, -1);
    expect((await read()).slice(0, told.length)).toEqual(told);
  });

  it("is put into the thread by a repair", async () => {
    const { end, place, read } = await withLateResult({ isClosed });
    await end();
    await repair(place);
    expect(await read()).toContain("tool: deaf done -");
  });
});

it("A placeholder of a repair gives way to a result that comes after it", async () => {
  const { send, end, place, read } = await withLateResult({ isClosed: false });
  await repair(place);
  expect((await read())[2]).toContain("tool! Tool call deaf");
  await end();
  await send("and now");
  expect(await read()).toContain("tool: deaf done -");
});
