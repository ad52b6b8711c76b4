/** One thread of an agent, which has messages before its first turn is played. */

import { HumanMessage } from "@langchain/core/messages";
import type { AgentKind, AgentParts, AnyAgent } from "./agents.js";
import { createHistory } from "./histories.js";

export interface Thread {
  readonly agent: AnyAgent;
  readonly config: { readonly configurable: { readonly thread_id: string } };
  /** A question, a call, its result and an answer. */
  play(): Promise<void>;
  close(): Promise<void>;
}

let threads = 0;

/**
 * A thread that summaries keep short never has many messages at once, so it is written piece by piece. One pass of our
 * summary covers at most about this many.
 */
const PIECE = 200;

/** So many turns that a delta channel stores all messages once, and no piece has to be read after that. */
const TURNS_AFTER_PIECES = 25;

/**
 * The messages are written as they are. A turn is played after that, because a thread that was just written is not like
 * one that goes on.
 */
export async function openThread(
  { create, cost }: Pick<AgentKind, "create" | "cost">,
  parts: AgentParts,
  size: number,
): Promise<Thread> {
  threads += 1;
  const agent = create(parts);
  const config = { configurable: { thread_id: `thread-${threads}` } };
  const play = async () => {
    const { messages } = await agent.invoke({ messages: [new HumanMessage("Where?")] }, config);
    const last = messages.slice(-2).map(({ type }) => type);
    if (last.join() !== "tool,ai")
      throw new Error(`Expected a turn to end with a result and an answer, got ${last.join(" and ")}.`);
  };
  const history = createHistory(size);
  const piece = cost === "short" ? PIECE : size;
  for (let written = 0; written < size; written += piece) {
    await agent.updateState(config, { messages: history.slice(written, written + piece) });
    await play();
  }
  if (size > piece) for (let turn = 0; turn < TURNS_AFTER_PIECES; turn += 1) await play();
  return { agent, config, play, close: () => parts.checkpointer.deleteThread(config.configurable.thread_id) };
}
