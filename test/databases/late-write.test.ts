import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../src/index.js";
import { replaceMethods } from "../../src/threads/langgraph/replace-methods.js";
import { deferred } from "../support/deferred.js";
import { FunctionModel } from "../support/function-model.js";
import { createProbe } from "../support/probe-tools.js";
import { SAVERS } from "../support/savers.js";
import { callIdsOf } from "../support/strict-check.js";
import { inThread, pairedScript, user } from "../support/thread.js";

type Put = BaseCheckpointSaver["put"];

const config = inThread("1");
const never = () => new Promise<never>(() => {});

/** A graph in a process of its own. Its model calls two tools, with ids that begin with the name of the process. */
function createProcess(name: string, saver: BaseCheckpointSaver, methods: Partial<BaseCheckpointSaver> = {}) {
  const { fast } = createProbe();
  const model = new FunctionModel(({ messages }) => {
    if (messages.at(-1)?.type === "tool") return "done";
    const tool_calls = [0, 1].map((index) => ({ id: `${name}_${index}`, name: "fast", args: {} }));
    return new AIMessage({ content: "", tool_calls });
  });
  // Views of one `MemorySaver` wait for one another, as they share its storage. Processes do not.
  const checkpointer = replaceMethods(saver, {
    ...methods,
    storage: undefined,
  } as Partial<BaseCheckpointSaver>);
  // The test reads the messages in checkpoints. With a delta channel, a checkpoint is saved after the writes it needs.
  return createAgentGraph({ model, tools: [fast], checkpointer, messagesChannel: "full" });
}

const hasCalls = ({ channel_values }: Parameters<Put>[1]) => {
  const messages = channel_values["messages"] as BaseMessage[] | undefined;
  return messages?.at(-1)?.type === "ai" && callIdsOf(messages.at(-1) as AIMessage).length > 0;
};

const writesCalls = (writes: readonly (readonly unknown[])[]) =>
  writes.some(([, value]) => JSON.stringify(value)?.includes('"tool_calls":[{'));

/**
 * A database can finish a write of a process after the process was killed, when the next process has read the thread
 * already. Both then have a checkpoint with the same number, but with different calls. With plain version numbers,
 * `PostgresSaver` shows the calls of the first beside the results of the second, and a run ends with calls that have
 * no result.
 */
describe.each(SAVERS)("With $title", ({ isThere, open }) => {
  it.skipIf(!isThere)(
    "a write of a killed process that arrives late leaves no call without a result",
    async () => {
      const saver = (await open()).connect();
      let finishLate: () => Promise<unknown> = never;
      const death = deferred();
      const killed = createProcess("a", saver, {
        put: (...given) => {
          if (!hasCalls(given[1])) return saver.put(...given);
          finishLate = () => saver.put(...given);
          death.resolve();
          return never();
        },
        putWrites: (...given) => (writesCalls(given[1]) ? never() : saver.putWrites(...given)),
      });
      // In this process, nobody hears of what the killed ones wait for.
      void killed.invoke(user("go"), { ...config, durability: "sync" }).catch(() => {});
      await death.promise;

      let written = 0;
      const bothWritten = deferred();
      const second = createProcess("b", saver, {
        put: async (...given) => {
          if (!hasCalls(given[1])) return never();
          await finishLate();
          return saver.put(...given);
        },
        putWrites: async (...given) => {
          await saver.putWrites(...given);
          if (given[1].some(([, value]) => JSON.stringify(value)?.includes("fast done"))) written += 1;
          if (written === 2) bothWritten.resolve();
        },
      });
      void second.invoke(null, { ...config, durability: "sync" }).catch(() => {});
      await bothWritten.promise;

      const third = createProcess("c", saver);
      const lines = ["human: go", "ai> fast fast", "tool: fast done -", "tool: fast done -", "ai: done"];
      expect(pairedScript(await third.invoke(null, config))).toEqual(lines);
    },
  );
});
