/** Lists of messages as a thread's checkpoints have them, without a graph. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint, MemorySaver } from "@langchain/langgraph";

const THREAD = "thread";
const place = { thread_id: THREAD, checkpoint_ns: "" };

/** A thread whose state is the list that was given last. */
export class SavedLists {
  readonly saver = new MemorySaver();
  readonly config: RunnableConfig = { configurable: place };
  /** The ids of the checkpoints that were read, without the latest. */
  readonly reads: string[] = [];
  #latest: readonly BaseMessage[] = [];

  /** The state of the thread from now on. It is in no checkpoint. */
  show(messages: readonly BaseMessage[]): this {
    this.#latest = messages;
    return this;
  }

  /** The config of a task whose superstep began on a checkpoint with this list. */
  async taskWith(messages: readonly BaseMessage[]): Promise<NonNullable<RunnableConfig["configurable"]>> {
    const id = await this.save(messages);
    return { ...place, checkpoint_map: { "": id }, __pregel_checkpointer: this.saver };
  }

  /** @returns The id of a new checkpoint with this list. */
  async save(messages: readonly BaseMessage[]): Promise<string> {
    const checkpoint = { ...emptyCheckpoint(), channel_values: { messages: [...messages] } };
    await this.saver.put(this.config, checkpoint, { source: "loop", step: 0, parents: {} });
    return checkpoint.id;
  }

  async getState({ configurable }: RunnableConfig): Promise<{ values: { messages?: unknown } }> {
    const { checkpoint_id } = configurable ?? {};
    if (checkpoint_id === undefined) return { values: { messages: this.#latest } };
    this.reads.push(checkpoint_id);
    const tuple = await this.saver.getTuple({ configurable: { ...place, checkpoint_id } });
    return { values: { ...tuple?.checkpoint.channel_values } };
  }
}
