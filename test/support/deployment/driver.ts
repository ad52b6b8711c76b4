/** What the ways in which threads break need of an agent, and the driver of one in this process. */

import { setTimeout as delay } from "node:timers/promises";
import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { mortalSaver } from "../mortal-saver.js";
import { type AgentName, type AnyGraph, createDeployedAgent } from "./agents.js";
import { type WorkCall, workText } from "./strict-worker.js";

export interface Driver {
  readonly agent: AgentName;
  readonly threadId: string;
  /** A run with a message of the user, until it ends, fails, or asks a human. Returns the error of a failed run. */
  say(text: string): Promise<unknown>;
  /** A run in which the model makes these calls. */
  work(calls: readonly WorkCall[]): Promise<unknown>;
  /**
   * The same, cancelled while the tool `hold` runs.
   *
   * @param finished How many of the calls have finished then.
   */
  cancel(calls: readonly WorkCall[], finished: number): Promise<void>;
  /** The same, but the process of the run dies. A server cannot die for one thread alone, and cancels the run. */
  die(calls: readonly WorkCall[], finished: number): Promise<void>;
  /** The same. The run goes on until the driver is told to let it go. Only on a server, which knows that it goes on. */
  readonly leaveBusy?: (calls: readonly WorkCall[]) => Promise<void>;
  read(): Promise<BaseMessage[]>;
  /** Writes to the thread as `updateState` of a user does. */
  edit(messages: readonly object[], asNode?: string): Promise<void>;
}

const graphs = new WeakMap<BaseCheckpointSaver, Map<AgentName, AnyGraph>>();

/** The agent over this saver. It is made once, which takes longer than a turn. */
function graphOver(saver: BaseCheckpointSaver, agent: AgentName): AnyGraph {
  const known = graphs.get(saver) ?? new Map<AgentName, AnyGraph>();
  graphs.set(saver, known);
  const graph = known.get(agent) ?? createDeployedAgent(agent, saver);
  known.set(agent, graph);
  return graph;
}

/** Makes the driver of each thread of one agent over one saver. */
export function driveLocally(agent: AgentName, saver: BaseCheckpointSaver): (threadId: string) => Driver {
  const graph = graphOver(saver, agent);
  return (threadId) => {
    const config = { configurable: { thread_id: threadId } };
    const say = async (content: string): Promise<unknown> => {
      try {
        await graph.invoke({ messages: [{ role: "user", content }] }, { ...config, durability: "sync" });
        return undefined;
      } catch (error) {
        return error;
      }
    };
    /** Resolves when the calls run, and what the finished ones wrote is saved. */
    const holds = async (finished: number): Promise<void> => {
      for (;;) {
        const tuple = await saver.getTuple(config);
        const writes = (tuple?.pendingWrites ?? []).filter(([, channel]) => channel === "messages");
        const isHolding = tuple?.metadata?.source === "loop" && (tuple.metadata.step ?? 0) > 0;
        if (isHolding && writes.length >= finished && (await startedTools(graph, config))) return;
        await delay(2);
      }
    };
    const begin = async (
      calls: readonly WorkCall[],
      finished: number,
      { over, end }: { over: BaseCheckpointSaver; end: () => void },
    ) => {
      const controller = new AbortController();
      const running = graphOver(over, agent)
        .invoke(
          { messages: [{ role: "user", content: workText(calls) }] },
          { ...config, durability: "sync", signal: controller.signal },
        )
        .catch(() => {});
      await holds(finished);
      end();
      controller.abort();
      await running;
      // A cancelled task can still write when its run has ended.
      await delay(2);
    };
    return {
      agent,
      threadId,
      say,
      work: (calls) => say(workText(calls)),
      cancel: (calls, finished) => begin(calls, finished, { over: saver, end: () => {} }),
      die: (calls, finished) => {
        const { mortal, die } = mortalSaver(saver);
        return begin(calls, finished, { over: mortal, end: die });
      },
      read: async () => {
        const { messages } = (await graph.getState(config)).values;
        return (messages as BaseMessage[]).map((message) => coerceMessageLikeToMessage(message));
      },
      edit: async (messages, asNode) => {
        await graph.updateState(config, { messages }, asNode);
      },
    };
  };
}

/** Whether the latest message has calls, so that the tools have begun. */
async function startedTools(graph: AnyGraph, config: object): Promise<boolean> {
  const { values, next } = await graph.getState(config);
  const messages = values["messages"] as BaseMessage[] | undefined;
  return next.includes("tools") && messages?.some(({ type }) => type === "ai") === true;
}
