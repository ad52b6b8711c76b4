/**
 * A turn of four messages in a long thread: `createAgent` with deepagents' patch, and `createAgentGraph` with the full
 * and with the delta channel. All run in turns in the same process. The model and the tool respond at once. Run it with
 * `npx tsx bench/channels.ts`.
 *
 * N: milliseconds a turn, the median of the turns before the thread has N messages.
 * MB: all that was stored in the thread until its last turn.
 * quicker, fewer: how many times as many milliseconds and bytes `createAgent` takes at the last size.
 */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { createPatchToolCallsMiddleware } from "deepagents";
import { createAgent } from "langchain";
import { z } from "zod";
import { createAgentGraph, messageSerializer } from "../src/index.js";
import { FunctionModel } from "../test/support/function-model.js";

const SIZES = [100, 400, 800, 1_200];
const SAMPLES = 9;
const MESSAGES_A_TURN = 4;

const look = tool(({ city }: { city: string }) => `${city}: ${"found ".repeat(20)}`, {
  name: "look",
  description: "Looks at a city.",
  schema: z.object({ city: z.string() }),
});

const model = () =>
  new FunctionModel(({ messages, index }) =>
    messages.at(-1)?.type === "tool"
      ? `Answer ${"word ".repeat(30)}`
      : new AIMessage({
          content: "",
          tool_calls: [{ id: `call-${index}`, name: "look", args: { city: "Rome" } }],
        }),
  );

type Serde = BaseCheckpointSaver["serde"];

/** A memory saver that counts what it stores. */
function countingSaver(serde: Serde) {
  const stored = { bytes: 0 };
  const counting: Serde = {
    dumpsTyped: async (value) => {
      const typed = await serde.dumpsTyped(value);
      stored.bytes += typed[1].length;
      return typed;
    },
    loadsTyped: (type, data) => serde.loadsTyped(type, data),
  };
  return { stored, saver: Object.assign(new MemorySaver(), { serde: counting }) };
}

interface Agent {
  invoke(input: object, config: object): Promise<unknown>;
}

const langGraph = () => new MemorySaver().serde;
const own = (messagesChannel: "full" | "delta") => (checkpointer: BaseCheckpointSaver) =>
  createAgentGraph({
    model: model(),
    tools: [look],
    checkpointer,
    messagesChannel,
    maxTokensBeforeSummary: 0,
  }) as unknown as Agent;

const KINDS: Readonly<Record<string, { serde: Serde; create: (saver: BaseCheckpointSaver) => Agent }>> = {
  "createAgent + patch": {
    serde: langGraph(),
    create: (checkpointer) =>
      createAgent({
        model: model(),
        tools: [look],
        checkpointer,
        middleware: [createPatchToolCallsMiddleware() as never],
      }) as unknown as Agent,
  },
  full: { serde: langGraph(), create: own("full") },
  delta: { serde: langGraph(), create: own("delta") },
  "delta + messageSerializer": { serde: messageSerializer(), create: own("delta") },
};

const config = { configurable: { thread_id: "1" } };
const opened = Object.entries(KINDS).map(([kind, { serde, create }]) => {
  const { stored, saver } = countingSaver(serde);
  return { kind, stored, agent: create(saver), times: new Map<number, number[]>() };
});

const last = SIZES.at(-1) ?? 0;
for (let size = MESSAGES_A_TURN; size <= last; size += MESSAGES_A_TURN) {
  const measured = SIZES.find((at) => size <= at && size > at - SAMPLES * MESSAGES_A_TURN);
  for (const { agent, times } of opened) {
    const input = { messages: [new HumanMessage(`Question ${size} ${"word ".repeat(20)}`)] };
    const start = performance.now();
    await agent.invoke(input, config);
    if (measured === undefined) continue;
    times.set(measured, [...(times.get(measured) ?? []), performance.now() - start]);
  }
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const [base] = opened;
const baseTime = median(base?.times.get(last) ?? []);
console.table(
  opened.map(({ kind, stored, times }) => ({
    kind,
    ...Object.fromEntries(SIZES.map((size) => [size, Number(median(times.get(size) ?? []).toFixed(1))])),
    MB: Number((stored.bytes / 1e6).toFixed(2)),
    quicker: Number((baseTime / median(times.get(last) ?? [])).toFixed(1)),
    fewer: Number(((base?.stored.bytes ?? 0) / stored.bytes).toFixed(0)),
  })),
);
