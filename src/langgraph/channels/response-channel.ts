import type { BaseChannel } from "@langchain/langgraph";
import { EphemeralValue } from "@langchain/langgraph/channels";

/**
 * Makes one channel of a graph hold its value only until the next superstep. The superstep in which new input enters
 * the state is one, so the value that a run left is gone from the state in which its thread has a new message. No node
 * has to clear it, and no cancelled run leaves it.
 *
 * A zod schema cannot describe such a channel, so it is replaced in the graph before it is compiled.
 */
export function withValueUntilNextStep<Graph extends object>(graph: Graph, name: string): Graph {
  const channels = Reflect.get(graph, "channels") as Record<string, BaseChannel>;
  channels[name] = new EphemeralValue<unknown>(false);
  return graph;
}
