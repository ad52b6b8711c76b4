import { type BaseChannel, EmptyChannelError } from "@langchain/langgraph";
import { LastValue } from "@langchain/langgraph/channels";

/** Made once, without the stack that takes most of the time. LangGraph only asks for its name. */
const EMPTY = new EmptyChannelError();

/**
 * LangGraph's channel of a last value. LangGraph reads each channel of a graph several times in a superstep, and catches
 * the error that a channel without a value throws. Most channels of a new thread have none.
 */
class QuietLastValue<Value> extends LastValue<Value> {
  override fromCheckpoint(checkpoint?: Value): this {
    const copy = new QuietLastValue<Value>();
    if (checkpoint !== undefined) copy.value = [checkpoint];
    return copy as this;
  }

  override get(): Value {
    if (!this.isAvailable()) throw EMPTY;
    return super.get();
  }

  override checkpoint(): Value {
    return this.get();
  }
}

/** Replaces the channels of a graph that hold the last value and begin without one. Call it before `compile`. */
export function withQuietChannels<Graph extends object>(graph: Graph): Graph {
  const channels = Reflect.get(graph, "channels") as Record<string, BaseChannel>;
  for (const [name, channel] of Object.entries(channels))
    if (channel.lc_graph_name === "LastValue" && !channel.isAvailable())
      channels[name] = new QuietLastValue();
  return graph;
}
