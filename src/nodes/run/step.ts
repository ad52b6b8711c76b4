/** Wrappers that keep the record of a run, so that nodes and routes need not do it themselves. */

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isCommand } from "@langchain/langgraph";
import { normalizeHistory } from "../../history/reducer/normalize-history.js";
import { readState } from "../../langgraph/checkpoints/read-history.js";
import { interruptsOf } from "../../langgraph/is-langgraph-signal.js";
import { stepOf } from "../../langgraph/step-of.js";
import { isRecord } from "../../shared/is-record.js";
import { emitEvent } from "./agent-event.js";
import type { AgentState } from "./agent-state.js";
import { ownStateOf, runRecordOf } from "./run-handle.js";

type Config = LangGraphRunnableConfig;

/** Wraps a node: records its superstep, the messages that it writes, and its interrupts. */
export function step<Input, NodeConfig extends Config, Output>(
  node: (input: Input, config: NodeConfig) => Promise<Output>,
): (input: Input, config: NodeConfig) => Promise<Output> {
  return async (input, config) => {
    const record = runRecordOf(config);
    emitInputEvents(config);
    record?.beginStep(stepOf(config), readState(config, ownStateOf(config).keys));
    try {
      const output = await node(withSoundMessages(input), config);
      record?.addWrites(updatesOf(output));
      return output;
    } catch (error) {
      record?.interrupts.push(...interruptsOf(error));
      throw error;
    }
  };
}

/** Wraps the route from START, where a run can end. The route sees the history with the input in it. */
export function firstRoute<NodeConfig extends Config, Target>(
  route: (state: AgentState, config: NodeConfig) => Target,
): (state: AgentState, config: NodeConfig) => Target {
  return (state, config) => {
    runRecordOf(config)?.beginRun(state);
    emitInputEvents(config);
    return route(withSoundMessages(state), config);
  };
}

/**
 * A run that writes nothing before its first node reads the state as another agent or an older version stored it. The
 * reducer has not brought it into its form.
 */
function withSoundMessages<Input>(input: Input): Input {
  const stored = isRecord(input) ? input["messages"] : undefined;
  if (!Array.isArray(stored)) return input;
  const messages = normalizeHistory(stored, () => {});
  return messages === stored ? input : { ...input, messages };
}

/** A run that was resumed has no route, and a run that ends at once has no node. */
function emitInputEvents(config: Config): void {
  for (const event of runRecordOf(config)?.inputEvents.splice(0) ?? []) emitEvent(config, event);
}

/** What a node wrote, in one update or several. */
function updatesOf(output: unknown): Readonly<Record<string, unknown>>[] {
  return [output].flat().flatMap((written) => {
    const update: unknown = isCommand(written) ? written.update : written;
    return isRecord(update) ? [update] : [];
  });
}
