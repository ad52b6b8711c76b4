/** What comes after the cancel of a run: the result of a tool that ignores it, and the text that was read until then. */

import { setTimeout as delay } from "node:timers/promises";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { FunctionModel } from "../../test/support/models.js";
import { strictViolations } from "../../test/support/strict-check.js";
import { messagesOf } from "../../test/support/thread.js";
import type { MakeGraph } from "../adapter.js";
import { type Case, fault, type Outcome, PASS } from "../suite.js";

const config = { configurable: { thread_id: "1" } };
const HALF = "The answer is";
/** What ends after a cancel is stored in less time, if it is stored. */
const QUIET_MS = 500;

/** Calls `pay` once, or is cut off in the middle of a response. */
class CutModel extends FunctionModel {
  constructor() {
    super(({ messages, text }) => {
      if (text === "Pay." && messages.at(-1)?.type === "human")
        return new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "pay", args: {} }] });
      return text === "Tell me." ? HALF : "Yes.";
    });
  }

  override async *_streamResponseChunks(
    ...given: Parameters<FunctionModel["_streamResponseChunks"]>
  ): ReturnType<FunctionModel["_streamResponseChunks"]> {
    yield* super._streamResponseChunks(...given);
    if (given[0].at(-1)?.text === "Tell me.") await new Promise(() => {});
  }
}

/** The thread after a run that was cancelled, its last words, and the death of its process. */
async function afterCrash(makeGraph: MakeGraph, request: string, next: readonly string[]) {
  const ending = new AbortController();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const pay = tool(
    async () => {
      ending.abort();
      await released;
      return "paid 7";
    },
    { name: "pay", description: "Pays.", schema: { type: "object", properties: {} } },
  );
  const model = new CutModel();
  const open = (checkpointer: MemorySaver) => makeGraph({ model, tools: [pay], checkpointer });
  const saver = new MemorySaver();
  const graph = open(saver);
  const send = (text: string) => graph.invoke({ messages: [new HumanMessage(text)] }, config);
  try {
    const options = { ...config, signal: ending.signal, streamMode: "messages" };
    const stream = await graph.stream({ messages: [new HumanMessage(request)] }, options);
    for await (const [chunk] of stream as AsyncIterable<[BaseMessage]>)
      if (chunk.text === HALF) ending.abort();
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  }
  await delay(QUIET_MS);
  for (const text of next) await send(text);
  release();
  await delay(QUIET_MS);
  // Another process has the database, and not the memory.
  const { storage, writes } = structuredClone({ storage: saver.storage, writes: saver.writes });
  const other = open(Object.assign(new MemorySaver(), { storage, writes }));
  await other.invoke({ messages: [new HumanMessage("Are you there?")] }, config);
  const messages = messagesOf((await other.getState(config)).values);
  return { messages, faults: [...model.refused, ...strictViolations(messages)] };
}

type Judged = Awaited<ReturnType<typeof afterCrash>>;

function judge({ messages, faults }: Judged, type: string, text: string): Outcome {
  if (faults.length > 0) return fault(String(faults[0]), undefined, messages);
  const found = messages.filter((message) => message.type === type && message.text === text).length;
  return found === 1 ? PASS : fault(`"${text}" is in the thread ${found} times.`, undefined, messages);
}

export function lateCases(makeGraph: MakeGraph): Case[] {
  const late = (next: readonly string[]) => async () =>
    judge(await afterCrash(makeGraph, "Pay.", next), "tool", "paid 7");
  return [
    { id: "late result after a crash, before the next message", run: late([]) },
    { id: "late result after a crash, after the next message", run: late(["Well?"]) },
    {
      id: "cancelled text",
      run: async () => judge(await afterCrash(makeGraph, "Tell me.", []), "ai", HALF),
    },
  ];
}
