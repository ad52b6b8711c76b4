/** What every node and the first route do for the record of their run, so that none of them must think of it. */

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isCommand } from "@langchain/langgraph";
import { interruptsOf } from "../../langgraph/is-langgraph-signal.js";
import { readHistory } from "../../langgraph/read-history.js";
import { stepOf } from "../../langgraph/step-of.js";
import { isRecord } from "../../shared/is-record.js";
import type { AgentState } from "./agent-state.js";
import { runRecordOf } from "./run-handle.js";

type Config = LangGraphRunnableConfig;

/** The node of a graph: its superstep is counted, its interrupt is noted, and so is the history that it leaves. */
export function step<Input, NodeConfig extends Config, Output>(
  node: (input: Input, config: NodeConfig) => Promise<Output>,
): (input: Input, config: NodeConfig) => Promise<Output> {
  return async (input, config) => {
    const record = runRecordOf(config);
    record?.beginStep(stepOf(config), readHistory(config)?.messages);
    try {
      const output = await node(input, config);
      record?.addWrites(messagesOf(output));
      return output;
    } catch (error) {
      record?.interrupts.push(...interruptsOf(error));
      throw error;
    }
  };
}

/** The route from START. It sees the history with the input in it, and a run may end there. */
export function firstRoute<NodeConfig extends Config, Target>(
  route: (state: AgentState, config: NodeConfig) => Target,
): (state: AgentState, config: NodeConfig) => Target {
  return (state, config) => {
    runRecordOf(config)?.beginRun(state.messages);
    return route(state, config);
  };
}

/** What the model node or the patch node wrote. A run never ends with the writes of tools: the model node sees them. */
function messagesOf(output: unknown): readonly unknown[] {
  const update: unknown = isCommand(output) ? output.update : output;
  const messages = isRecord(update) ? update["messages"] : undefined;
  return Array.isArray(messages) ? messages : [];
}
