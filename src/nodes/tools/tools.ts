import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callIdOf, isResult } from "../../history/messages/result.js";
import { withOwnMemory } from "../../langgraph/checkpoints/own-memory.js";
import { stepOf } from "../../langgraph/step-of.js";
import { FunctionContext } from "../../middleware/function-context.js";
import { runToolMiddleware } from "../../middleware/run-tool-middleware.js";
import type { RunContext } from "../../settings/run-context.js";
import { readOwnValues } from "../../settings/schemas/own-state.js";
import { untilAborted } from "../../shared/until-aborted.js";
import { awaitLate } from "../recovery/late-results.js";
import { savedMessages } from "../recovery/saved-result.js";
import { emitEvent } from "../run/agent-event.js";
import { noteFailure, ownStateOf, runHandleOf, runInputsOf, scopeOf } from "../run/run-handle.js";
import { callTool, type WantedCall } from "./call-tool.js";
import { checkCommand } from "./check-command.js";
import { messagesOf, valuesOf } from "./command-with-messages.js";
import { type CallOutcome, finalizeCall, type ToolsUpdate } from "./finalize-call.js";
import { isHandOff, withBatch } from "./hand-off.js";
import { isToolTask, type ToolTask } from "./tool-task.js";

export interface ToolsNodeOptions {
  readonly tools: readonly StructuredToolInterface[];
  /** Whether the model reads the message of an error that a tool threw. */
  readonly includeDetailedErrors: boolean;
  /** Milliseconds; undefined: no limit. */
  readonly toolTimeoutMs: number | undefined;
  /** Whether a call of an unknown tool ends the run. */
  readonly terminateOnUnknownCalls: boolean;
}

/**
 * Makes the node that runs one tool call. The node throws only LangGraph's own signals and the abort of its run: any
 * other error would lose the results of the calls that are still running.
 */
export function createToolsNode(options: ToolsNodeOptions) {
  const toolsByName = new Map(options.tools.map((tool) => [tool.name, tool]));
  return async function tools(
    task: ToolTask,
    config: LangGraphRunnableConfig<RunContext>,
  ): Promise<ToolsUpdate> {
    // Another agent left the task in a thread that is taken over. Only calls that our model made are run.
    if (!isToolTask(task)) return new Command({ goto: "patch" });
    const handle = runHandleOf(config);
    const answer = async (): Promise<ToolsUpdate> => {
      // A call that waited because of `maxConcurrency` must not begin after its run was aborted.
      config.signal?.throwIfAborted();
      const messages = savedMessages(task, config);
      if (messages !== undefined) {
        emitEvent(config, { type: "result-recovered", tool: task.call.name, callId: task.call.id });
        return { messages };
      }
      return answerCall(task, toolsByName, options, config);
    };
    const answered = handle?.limitCall(answer) ?? answer();
    const { signal } = config;
    const answering = signal === undefined ? answered : untilAborted(answered, signal);
    handle?.running.add(answering, stepOf(config));
    const update = await answering.catch((error: unknown) => {
      if (signal?.aborted) keepLate(task, answered, config);
      throw error;
    });
    handle?.record.tally.addResults(1);
    return handle !== undefined && isHandOff(update)
      ? withBatch(update, task.call.id, await handle.running.settled())
      : update;
  };
}

/** What a tool returns after the abort of its run goes to the next run of the thread. */
function keepLate(
  { call, place }: ToolTask,
  answered: Promise<ToolsUpdate>,
  config: LangGraphRunnableConfig,
) {
  const isOfCall = (message: BaseMessage): message is ToolMessage =>
    isResult(message) && callIdOf(message) === call.id;
  const { keys } = ownStateOf(config);
  const coming = answered.then((update) => ({
    result: messagesOf(update).find(isOfCall),
    values: valuesOf(update, keys),
  }));
  awaitLate(place, coming, runInputsOf(config)?.late, config.configurable?.["thread_id"]);
}

/** Middleware does not see a call whose arguments are not valid JSON. */
async function answerCall(
  task: ToolTask,
  toolsByName: ReadonlyMap<string, StructuredToolInterface>,
  { includeDetailedErrors, toolTimeoutMs, terminateOnUnknownCalls }: ToolsNodeOptions,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<ToolsUpdate> {
  const { call, args, parseError, offered } = task;
  const finalize = (outcome: CallOutcome) => ({
    ...finalizeCall(task, outcome, includeDetailedErrors),
    endsRun: outcome.kind === "unknown-tool" && terminateOnUnknownCalls,
  });
  const finish = (outcome: CallOutcome): ToolsUpdate => {
    const { update, endsRun } = finalize(outcome);
    return update({ endsRun });
  };
  const tool = offered === undefined ? toolsByName.get(call.name) : undefined;
  const unknown = { kind: "unknown-tool", known: offered ?? [...toolsByName.keys()] } as const;
  if (args === undefined) {
    const detail = call.id === "" ? "the call has no id" : (parseError ?? "they are not valid JSON");
    return finish(tool === undefined ? unknown : { kind: "invalid-arguments", detail });
  }
  const ownState = ownStateOf(config);
  // Each tool has a memory of its own, and one more for each other call of it in the same response.
  const memory = task.repeats === undefined ? call.name : `${call.name}.${task.repeats}`;
  const wanted = { id: call.id, name: call.name, args };
  const execute = async (given: WantedCall["args"]): Promise<CallOutcome> =>
    checkCommand(
      tool === undefined
        ? unknown
        : await callTool(tool, { ...wanted, args: given }, { toolTimeoutMs }, withOwnMemory(config, memory)),
      ownState,
    );
  const layers = runInputsOf(config)?.middleware.function ?? [];
  // A copy, because changes of the tool must not reach the history.
  if (layers.length === 0) return finish(await execute(structuredClone(args)));
  const context = new FunctionContext({ call: wanted, tool, ...scopeOf(config) });
  const update = await runToolMiddleware<CallOutcome, ToolsUpdate>(layers, context, {
    execute,
    finalize,
    noteFailure: (error) => noteFailure(error, config),
  });
  if (context.updates.length === 0) return update;
  // LangGraph takes a list of writes only if it has a command.
  const written = context.updates.map(async ({ messages, fields }) => {
    const values = await readOwnValues(ownState, fields).catch((error: unknown) => {
      if (!noteFailure(error, config)) throw error;
      return {};
    });
    return new Command({ update: { ...values, ...(messages.length > 0 && { messages }) } });
  });
  return [...[update].flat(), ...(await Promise.all(written))];
}
