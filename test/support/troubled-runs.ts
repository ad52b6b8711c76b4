/** Runs in which something goes wrong once, of each kind that is counted and traced. */

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgentGraph } from "../../src/index.js";
import { turns } from "./async.js";
import { createLookGraph } from "./create-look-graph.js";
import { textOf } from "./long-histories.js";
import { alternating, FunctionModel, OpenAILike, shortSummariser } from "./models.js";
import { WindowModel } from "./overflow-refusals.js";
import { user } from "./thread.js";
import { createProbe } from "./tools.js";

const thread = { configurable: { thread_id: "1" } };
const failure = (status: number, text: string) => Object.assign(new Error(text), { status });

export const TROUBLES = {
  /** An orphan result is refused. */
  repair: async () => {
    const graph = createAgentGraph({
      model: new FunctionModel(() => "done"),
      checkpointer: new MemorySaver(),
      messagesChannel: "delta",
    });
    await graph.invoke(user("go"), thread);
    const orphan = new ToolMessage({ id: "orphan", content: "secret", tool_call_id: "none" });
    await graph.updateState(thread, { messages: [orphan] });
    // The history is rebuilt from the updates, so the reducer runs again.
    await graph.getState(thread);
  },
  /** A run is cancelled while one call is running and another has finished. The next one closes and recovers them. */
  cancelled: async () => {
    const { fast, deaf, hasBegun, ends, release } = createProbe();
    const graph = createAgentGraph({
      model: "offline:",
      tools: [fast, deaf],
      checkpointer: new MemorySaver(),
    });
    const controller = new AbortController();
    const run = graph.invoke(user("call deaf and call fast"), { ...thread, signal: controller.signal });
    await hasBegun(2);
    while (ends.length < 1) await turns();
    await turns();
    controller.abort();
    await run.catch(() => {});
    await graph.invoke(user("hello"), thread);
    release();
  },
  /** A provider refuses its own dialect, and takes the strict one. */
  refusal: async () => {
    const model = new OpenAILike(alternating);
    const graph = createAgentGraph({ model });
    const messages = [
      new HumanMessage("one"),
      new AIMessage("two"),
      new AIMessage("three"),
      new HumanMessage("four"),
    ];
    await graph.invoke({ messages });
  },
  /** A provider refuses a request as too long. */
  overflow: async () => {
    const model = new WindowModel({ window: 1_000, family: "anthropic" });
    const messages = [new HumanMessage(textOf(900, "old")), new AIMessage("ok"), new HumanMessage("go")];
    await createAgentGraph({ model, maxTokensBeforeSummary: 0 }).invoke({ messages });
  },
  /** A summary is written. */
  summary: async () => {
    const { graph } = createLookGraph(() => "done", {
      summaryModel: shortSummariser(),
      maxTokensBeforeSummary: 400,
      messagesToKeep: 1,
    });
    const messages = [new HumanMessage(textOf(900, "old")), new AIMessage("ok"), new HumanMessage("go")];
    await graph.invoke({ messages });
  },
  /** A model fails for good, and the next one is asked. */
  fallback: async () => {
    const model = new FunctionModel(() => failure(401, "no key"));
    await createAgentGraph({ model, fallbackModels: [new FunctionModel(() => "done")] }).invoke(user("go"));
  },
  /** A run fails. */
  failed: async () => {
    const graph = createAgentGraph({ model: new FunctionModel(() => failure(401, "no key")) });
    await graph.invoke(user("go")).catch(() => {});
  },
} as const satisfies Readonly<Record<string, () => Promise<void>>>;
