/** The tools node: runs a call and makes its result, however the call ended. */

import { setMaxListeners } from "node:events";
import type { BaseMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { type CheckpointTuple, Command, isCommand, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf } from "../../history/call.js";
import { placeOfCall } from "../../history/group.js";
import { callIdOf, endingRun, isPlaceholder, isResult, markRecoveredResult } from "../../history/result.js";
import { interruptsOf, isLangGraphSignal } from "../../providers/failure/langgraph-signal.js";
import { isError, isOfAbort } from "../../shared/is-error.js";
import { safely } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import { asItIs, type StopClock, untilAborted, withDeadline } from "../../shared/waiting.js";
import { messagesAmong, readWrites, withOwnSends } from "../../threads/commands.js";
import type { LateResult } from "../../threads/diary.js";
import { awaitLate } from "../../threads/ended-runs/late-results.js";
import { asQuietUpdate } from "../../threads/ended-runs/put-back.js";
import {
  callKeyOf,
  closeLostCall,
  isReplaySafe,
  startingCall,
} from "../../threads/ended-runs/started-calls.js";
import { emitEvent } from "../../threads/events.js";
import { withOwnMemory } from "../../threads/langgraph/own-memory.js";
import { patientTool } from "../../threads/langgraph/patient-tool.js";
import {
  isResumedWith,
  isToolTask,
  keptWrites,
  questionsNamed,
  readState,
  type ToolTask,
  tasksOfLostRun,
} from "../../threads/langgraph/read-checkpoints.js";
import { ownTaskOf } from "../../threads/langgraph/run-host.js";
import { superstepOf, withTaskInput } from "../../threads/langgraph/wrappable-graph.js";
import { readOwnValues } from "../../threads/own-state.js";
import type { AgentUpdate, ToolsUpdate } from "../../threads/state.js";
import { type FunctionCall, functionHook, type StateUpdate } from "../middleware/contexts.js";
import { runOnion, type Span } from "../middleware/run-onion.js";
import type { AgentPlan } from "../plan.js";
import { lateResultIn, noteFailure, runOf, scopeOf } from "../run/handle.js";
import type { RunContext } from "../settings/run-context.js";
import type { Settings } from "../settings/settings.js";
import { isHandOff, withBatch } from "./hand-off.js";
import { type CallOutcome, type FinalizedCall, finalizeCall, readCommand, resultOf } from "./result.js";

type Config = LangGraphRunnableConfig<RunContext>;

/**
 * Makes the node that runs one tool call. It throws only LangGraph's own signals and the abort of its run. Any other
 * error would lose the results of calls that are still running.
 */
export function createToolsNode(plan: AgentPlan) {
  return async function tools(task: ToolTask, config: Config): Promise<ToolsUpdate> {
    // The task comes from another agent, whose thread this one takes over. Only calls that our model made are run.
    if (!isToolTask(task)) return new Command({ goto: "patch" });
    const run = runOf(config);
    const { signal } = config;
    // LangGraph adds a listener for each task of the step, and Node warns about more than ten.
    if (signal !== undefined) setMaxListeners(0, signal);
    const answered = run.limitCall(() => runCall(task, plan, config));
    const answering = untilAborted(answered, signal);
    run.running.add(task, answering, config);
    const update = await answering.catch((error: unknown) => {
      if (signal?.aborted) keepLate(task, answered, config);
      throw error;
    });
    run.inputs.tally.addResults(1);
    if (!isHandOff(update)) return update;
    const batch = await run.running.settled();
    return withBatch(
      update,
      task.call.id,
      batch.map((call) => call.update),
    );
  };
}

/** One call from start to end: its saved result or its arguments, its middleware, its tool, and its writes. */
async function runCall(task: ToolTask, plan: AgentPlan, config: Config): Promise<ToolsUpdate> {
  // A call that waited because of `maxConcurrency` must not begin after its run was aborted.
  config.signal?.throwIfAborted();
  const { call, args, offered } = task;
  const kept = keptUpdate(task, config);
  if (kept !== undefined) return kept;
  const saved = savedMessages(task, config);
  if (saved !== undefined) {
    emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
    return { messages: saved };
  }

  const tool = offered === undefined ? plan.tools.get(call.name) : undefined;
  const unknown = () => ({ kind: "unknown-tool", known: offered ?? [...plan.tools.keys()] }) as const;
  const finalize = (outcome: CallOutcome) => finalizeCall(task, outcome, plan.settings);
  const write = ({ result, updateWith }: FinalizedCall) => updateWith(result);
  // Middleware does not see a call whose arguments are not valid JSON.
  if (args === undefined) return write(finalize(tool === undefined ? unknown() : unreadable(task)));

  const { ownState, middleware, checkpoints } = runOf(config).inputs;
  const layers = middleware.function;
  const hasEffect = tool !== undefined || layers.length > 0;
  const starting = await startingCall(task, !hasEffect || isReplaySafe(tool), config, checkpoints);
  if (starting.late !== undefined) return writeLateResult(starting.late, config);
  if (starting.isLost) return { messages: [closeLostCall(task, config, plan.settings.onRepair)] };
  await starting.begin();
  // Each tool has its own memory, and one more for each further call of it in the same response.
  const memory = task.repeats === undefined ? call.name : `${call.name}.${task.repeats}`;
  const execute = async (given: WantedCall["args"]): Promise<FinalizedCall> => {
    if (tool === undefined) return finalize(unknown());
    const wanted = { id: call.id, name: call.name, args: given, place: task.place };
    try {
      const outcome = await callTool(tool, wanted, plan.settings, withOwnMemory(config, memory));
      return finalize(await readCommand(outcome, ownState));
    } catch (error) {
      if (interruptsOf(error).length > 0) await starting.wait();
      throw error;
    }
  };
  // A copy, because the tool must not change the history.
  if (layers.length === 0) return write(await execute(structuredClone(args)));
  return runInsideMiddleware(task, { tool, execute, finalize }, config);
}

interface CallWork {
  readonly tool: StructuredToolInterface | undefined;
  /** Contract: runs the tool once. It throws only LangGraph's own signals and the abort of the run. */
  readonly execute: (args: WantedCall["args"]) => Promise<FinalizedCall>;
  /** Contract: makes a call's result, however the call ended. */
  readonly finalize: (outcome: CallOutcome) => FinalizedCall;
}

/**
 * Runs a call inside its run's function middleware. If a middleware throws, the gate ends the run. The run's caller
 * gets the error after the other calls of the batch have finished.
 *
 * @throws only LangGraph's own signals and the reason of the run's abort.
 */
async function runInsideMiddleware(
  task: ToolTask,
  { tool, execute, finalize }: CallWork,
  config: Config,
): Promise<ToolsUpdate> {
  const { call, args = {} } = task;
  const hook = functionHook(scopeOf(config), { call: { id: call.id, name: call.name, args }, tool });
  let done: FinalizedCall | undefined;
  let thrown: { readonly error: unknown } | undefined;
  const core = async (): Promise<void> => {
    try {
      const { arguments: wanted } = hook.fields;
      done = isRecord(wanted) ? await execute(wanted) : finalize(INVALID_ARGUMENTS);
      hook.settle({ result: done.result, error: done.error });
    } catch (error) {
      thrown = { error };
      throw error;
    }
  };
  const onRetry = (written: Span): void => hook.beginAttempt(written, { error: undefined });
  const layers = runOf(config).inputs.middleware.function;
  const exit = await runOnion({ layers, core, onRetry, updates: hook.updates }, hook.view);
  // An interrupt must pass even if a middleware catches every error.
  if (thrown !== undefined) throw thrown.error;
  if (exit.kind === "threw") {
    const isAborted = config.signal?.aborted === true;
    if (isLangGraphSignal(exit.error) || (isAborted && done === undefined)) throw exit.error;
    if (!isAborted) noteFailure(exit.error, config);
  }
  // The tool's result is kept even if a middleware threw after it.
  const { result, updateWith } = done ?? finalize(exit.kind === "threw" ? exit : { kind: "ended" });
  const left = resultOf(task, hook.fields.result ?? result);
  const update = updateWith(exit.kind === "terminated" ? endingRun(left) : left);
  return hook.updates.length === 0 ? update : [...[update].flat(), ...(await writesOf(hook.updates, config))];
}

const INVALID_ARGUMENTS = {
  kind: "invalid-arguments",
  detail: "A function middleware set `context.arguments` to a value that is not an object.",
} as const;

/** Writes what a tool returned after the abort of the run that this one continues. */
function writeLateResult({ result, values }: LateResult, config: Config): ToolsUpdate {
  emitEvent(config, { type: "result-recovered", tool: result.name ?? "", callId: callIdOf(result) });
  return withValues([markRecoveredResult(result)], values);
}

/** LangGraph takes a list of writes only if it contains a command. */
function withValues(messages: BaseMessage[], values: LateResult["values"]): ToolsUpdate {
  if (values.length === 0) return { messages };
  return [{ messages }, ...values.map(([key, value]) => new Command({ update: { [key]: value } }))];
}

function unreadable({ call, parseError }: ToolTask): CallOutcome {
  const detail = call.id === "" ? "the call has no id" : (parseError ?? "they are not valid JSON");
  return { kind: "invalid-arguments", detail };
}

/** What function middleware wrote. LangGraph takes a list of writes only if it contains a command. */
function writesOf(updates: readonly StateUpdate[], config: Config): Promise<Command[]> {
  const { ownState } = runOf(config).inputs;
  const written = updates.map(async ({ messages, fields }) => {
    const values = await readOwnValues(ownState, fields).catch((error: unknown) => {
      noteFailure(error, config);
      return {};
    });
    return new Command({ update: { ...values, ...(messages.length > 0 && { messages }) } });
  });
  return Promise.all(written);
}

/** If a tool returns after its run was aborted, the thread's next run gets the result. */
function keepLate(task: ToolTask, answered: Promise<ToolsUpdate>, config: LangGraphRunnableConfig): void {
  const coming = answered.then((update) => lateResultIn({ task, update, config }));
  void awaitLate(task.place, coming, config);
}

interface WantedCall extends FunctionCall, Pick<ToolTask, "place"> {}

/**
 * Runs a tool once, with the config that LangChain's tools expect: state, store, context, writer and tool call id, and
 * also the call's key, and a function that waits for a human. The tool's signal aborts with the run or at the timeout. A
 * tool that ignores the timeout is abandoned. One that ignores the run's abort is not: its result is kept, although the
 * run itself does not wait for it.
 *
 * @throws LangGraph's own signals, and what the tool throws because of the abort. Any other error is returned as an
 * outcome.
 */
export async function callTool(
  tool: StructuredToolInterface,
  wanted: WantedCall,
  { toolTimeoutMs }: Pick<Settings, "toolTimeoutMs">,
  taskConfig: Config,
): Promise<CallOutcome> {
  taskConfig.signal?.throwIfAborted();
  const state = readState(taskConfig, runOf(taskConfig).inputs.ownState.keys);
  const config = state === undefined ? taskConfig : withTaskInput(taskConfig, state);
  const { place, ...named } = wanted;
  const call = { ...named, type: "tool_call" as const };
  const invoke = (signal = config.signal, waitForHuman: StopClock = asItIs): Promise<unknown> =>
    patientTool(tool).invoke(call, {
      ...config,
      ...(signal && { signal }),
      config,
      state,
      toolCall: call,
      toolCallId: call.id,
      callKey: callKeyOf(config, place),
      waitForHuman,
      writer: config.writer ?? null,
      store: config.store ?? null,
    });
  const timeout = toolTimeoutMs === undefined ? undefined : new ToolTimeoutError(toolTimeoutMs);
  const deadline = timeout && {
    signal: config.signal,
    timeoutMs: timeout.milliseconds,
    timeoutError: () => timeout,
    outlivesAbort: true,
  };
  try {
    const value = await (deadline === undefined ? invoke() : withDeadline(invoke, deadline));
    return { kind: "returned", value: withOwnSends(value) };
  } catch (error) {
    if (safely(() => isLangGraphSignal(error), false) || isOfAbort(error, config.signal)) throw error;
    if (timeout !== undefined && error === timeout)
      return { kind: "timed-out", milliseconds: timeout.milliseconds, error };
    const threw: CallOutcome = { kind: "threw", error };
    // The message names the field that does not match the tool's schema.
    return safely<CallOutcome>(
      () => (isParsingException(error) ? { kind: "invalid-arguments", detail: error.message, error } : threw),
      threw,
    );
  }
}

class ToolTimeoutError extends Error {
  override readonly name = "ToolTimeoutError";
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`The tool did not finish within ${milliseconds} ms.`);
    this.milliseconds = milliseconds;
  }
}

/**
 * LangChain's error for arguments that do not match the tool's schema, from any copy of LangChain. It has no name of
 * its own, and a bundler can rename its class. `output` holds the arguments.
 */
function isParsingException(error: unknown): error is Error {
  return isError(error) && "output" in error && PARSING_MESSAGE.test(error.message);
}

const PARSING_MESSAGE = /^Received tool input did not match expected schema\b/;

/*
 * Finds a call's result if its run was killed before it could save its checkpoint, and is now continued.
 */

/**
 * What the call wrote in the superstep whose question is answered again. LangGraph begins a branch there, and runs all
 * its calls again. Undefined for a call whose own question is answered, and for one that had not ended.
 */
function keptUpdate({ call }: ToolTask, config: LangGraphRunnableConfig): ToolsUpdate | undefined {
  const { input, checkpoints } = runOf(config).inputs;
  const { begunOn: tuple, isFork } = checkpoints;
  const isAnswer = isCommand(input) && input.resume !== undefined && input.resume !== null;
  if (!isFork || !isAnswer || tuple?.metadata?.step !== (superstepOf(config) ?? 0) - 1) return undefined;
  const { messages, values } = readWrites(keptWrites(tuple, ownTaskOf(config), questionsNamed(input.resume)));
  const hasResult = messages.some((message) => isResult(message) && callIdOf(message) === call.id);
  return hasResult ? withValues(messages, values) : undefined;
}

/**
 * The messages that this call's tool wrote in the same superstep, with its result. Undefined if there are none, or if a
 * human has decided otherwise since.
 */
function savedMessages(
  { call, place, index }: ToolTask,
  config: LangGraphRunnableConfig,
): AgentUpdate["messages"] {
  const { input, checkpoints } = runOf(config).inputs;
  const step = superstepOf(config);
  const tuple = checkpoints.begunOn;
  if (tuple === undefined || checkpoints.isFork || step === undefined || !continues(tuple, input))
    return undefined;
  const isOfCall = (message: BaseMessage) =>
    isResult(message) && callIdOf(message) === call.id && !isPlaceholder(message);
  const found = tasksOfLostRun(tuple, step, "messages")
    .map((values) => messagesAmong(values.flat()))
    .filter((messages) => messages.some(isOfCall));
  const [messages] = found;
  // Two calls in one message can share an id. Nobody knows which of them the result belongs to.
  const head = readState(config)?.messages.findLast((head) => placeOfCall({ head }, index) === place);
  const isOnly = head !== undefined && callsOf(head).filter(({ id }) => id === call.id).length === 1;
  if (messages === undefined || !isOnly) return undefined;
  return messages.map((message) =>
    isResult(message) && isOfCall(message) ? markRecoveredResult(message) : asQuietUpdate(message),
  );
}

function continues(tuple: CheckpointTuple, input: unknown): boolean {
  return (
    input === null || (isCommand(input) && input.resume !== undefined && isResumedWith(tuple, input.resume))
  );
}
