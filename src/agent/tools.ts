/** The tools node: runs a call, and makes its result, no matter how the call ended. */

import { type BaseMessage, isBaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface, ToolInputParsingException } from "@langchain/core/tools";
import { type CheckpointTuple, Command, isCommand, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { callsOf, isAIMessage } from "../history/call.js";
import { cloneMessage, copyMessage, deriveId, toPlain } from "../history/message.js";
import { coerceMessage } from "../history/read-messages.js";
import {
  callIdOf,
  createPlaceholder,
  endingRun,
  isPlaceholder,
  isResult,
  markRecoveredResult,
  NO_OUTPUT,
} from "../history/result.js";
import { storageDemand } from "../history/storable.js";
import { interruptsOf, isLangGraphSignal } from "../providers/failure/langgraph-signal.js";
import { isError, isOfAbort } from "../shared/is-error.js";
import { safely, toJson } from "../shared/json.js";
import { untilAborted, withDeadline } from "../shared/waiting.js";
import {
  commandWithMessages,
  messagesOfCommand,
  readUpdate,
  resultIn,
  valuesOf,
  withOwnSends,
} from "../threads/commands.js";
import { emitEvent } from "../threads/events.js";
import { withOwnMemory } from "../threads/langgraph/own-memory.js";
import {
  isResumedWith,
  isToolTask,
  readHistory,
  readState,
  type ToolTask,
  tasksOfLostRun,
} from "../threads/langgraph/read-checkpoints.js";
import { stepOf, withTaskInput } from "../threads/langgraph/wrappable-graph.js";
import { awaitLate, patientTool } from "../threads/late-results.js";
import { readOwnValues } from "../threads/own-state.js";
import { callKeyOf, isReplaySafe, startingCall } from "../threads/started-calls.js";
import type { AgentUpdate, ToolsUpdate } from "../threads/state.js";
import { type CallOutcome, checkCommand, isHandOff, withBatch } from "./hand-off.js";
import { functionHook, type StateUpdate } from "./middleware/contexts.js";
import { type FinalizedCall, runToolMiddleware } from "./middleware/run.js";
import type { AgentPlan } from "./plan.js";
import { type AnsweredCall, noteFailure, runOf, scopeOf } from "./run-handle.js";
import type { RunContext } from "./settings/run-context.js";
import type { Settings } from "./settings/settings.js";

type Config = LangGraphRunnableConfig<RunContext>;

/**
 * Makes the node that runs one tool call. The node throws only LangGraph's own signals and the abort of its run: any
 * other error would lose the results of the calls that are still running.
 */
export function createToolsNode(plan: AgentPlan) {
  return async function tools(task: ToolTask, config: Config): Promise<ToolsUpdate> {
    // Another agent left the task in a thread that is taken over. Only calls that our model made are run.
    if (!isToolTask(task)) return new Command({ goto: "patch" });
    const run = runOf(config);
    const { signal } = config;
    const answered = run.limitCall(() => answerCall(task, plan, config));
    const answering = signal === undefined ? answered : untilAborted(answered, signal);
    run.running.add(task, answering, stepOf(config));
    const update = await answering.catch((error: unknown) => {
      if (signal?.aborted) keepLate(task, answered, config);
      throw error;
    });
    run.record.tally.addResults(1);
    if (!isHandOff(update)) return update;
    const batch = await run.running.settled();
    return withBatch(
      update,
      task.call.id,
      batch.map((call) => call.update),
    );
  };
}

/** The story of one call: its saved result or its arguments, its middleware, its tool, and what it writes. */
async function answerCall(task: ToolTask, plan: AgentPlan, config: Config): Promise<ToolsUpdate> {
  // A call that waited because of `maxConcurrency` must not begin after its run was aborted.
  config.signal?.throwIfAborted();
  const { call, args, offered } = task;
  const saved = savedMessages(task, config);
  if (saved !== undefined) {
    emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
    return { messages: saved };
  }

  const { includeDetailedErrors, toolTimeoutMs, terminateOnUnknownCalls } = plan.settings;
  const finalize = (outcome: CallOutcome) => ({
    ...finalizeCall(task, outcome, includeDetailedErrors),
    endsRun: outcome.kind === "unknown-tool" && terminateOnUnknownCalls,
  });
  const finish = (outcome: CallOutcome): ToolsUpdate => {
    const { result, endsRun, updateWith } = finalize(outcome);
    return updateWith(result, { endsRun });
  };
  const tool = offered === undefined ? plan.tools.get(call.name) : undefined;
  const unknown: CallOutcome = { kind: "unknown-tool", known: offered ?? [...plan.tools.keys()] };
  // Middleware does not see a call whose arguments are not valid JSON.
  if (args === undefined) return finish(tool === undefined ? unknown : unreadable(task));

  const { ownState, middleware, checkpoints } = runOf(config).inputs;
  const hasEffect = tool !== undefined || middleware.function.length > 0;
  const starting = startingCall(task, !hasEffect || isReplaySafe(tool), config, checkpoints);
  if (starting.isLost) return closeLost(task, config);
  await starting.begin();
  const wanted = { id: call.id, name: call.name, args };
  // Each tool has a memory of its own, and one more for each other call of it in the same response.
  const memory = task.repeats === undefined ? call.name : `${call.name}.${task.repeats}`;
  const execute = async (given: WantedCall["args"]): Promise<CallOutcome> => {
    if (tool === undefined) return unknown;
    const called = { ...wanted, args: given, place: task.place };
    const outcome = await callTool(tool, called, { toolTimeoutMs }, withOwnMemory(config, memory)).catch(
      async (error: unknown) => {
        if (interruptsOf(error).length > 0) await starting.wait();
        throw error;
      },
    );
    return checkCommand(outcome, ownState);
  };
  // A copy, because changes of the tool must not reach the history.
  if (middleware.function.length === 0) return finish(await execute(structuredClone(args)));
  const hook = functionHook({ call: wanted, tool, ...scopeOf(config) });
  const update = await runToolMiddleware<CallOutcome, ToolsUpdate>(middleware.function, hook, {
    execute,
    finalize,
    noteFailure: (error) => noteFailure(error, config),
  });
  return hook.updates.length === 0 ? update : [...[update].flat(), ...(await writesOf(hook.updates, config))];
}

/** Closes a call that an earlier run has started. Nobody knows what it did, so the model decides. */
function closeLost({ call, place }: ToolTask, config: Config): ToolsUpdate {
  const cause = "interrupted";
  emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
  return { messages: [createPlaceholder(call, cause, place)] };
}

function unreadable({ call, parseError }: ToolTask): CallOutcome {
  const detail = call.id === "" ? "the call has no id" : (parseError ?? "they are not valid JSON");
  return { kind: "invalid-arguments", detail };
}

/** What function middleware has written. LangGraph takes a list of writes only if it has a command. */
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

/** What a tool returns after the abort of its run goes to the next run of the thread. */
function keepLate(task: ToolTask, answered: Promise<ToolsUpdate>, config: LangGraphRunnableConfig): void {
  const { late, ownState } = runOf(config).inputs;
  const coming = answered.then((update) => lateResultIn({ task, update }, ownState.keys));
  void awaitLate(task.place, coming, late, config.configurable?.["thread_id"]);
}

/** The result in what a call has written, and what it wrote to these keys. */
export function lateResultIn({ task: { call }, update }: AnsweredCall, keys: readonly string[]) {
  return { result: resultIn(update, call.id), values: valuesOf(update, keys) };
}

interface WantedCall extends Pick<ToolTask, "place"> {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * Runs a tool once, with the runtime that LangChain's tools expect: a config with the state, store, context, writer and
 * id of the tool call, and with the key of the call. The tool's signal aborts with the run or at the timeout. A tool that ignores the timeout is
 * abandoned. After the abort of the run it is waited for, as long as it takes.
 *
 * @throws LangGraph's own signals, and what the tool throws because of the abort. Anything else that it throws is returned
 * as an outcome.
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
  const invoke = (signal: AbortSignal): Promise<unknown> =>
    patientTool(tool).invoke(call, {
      ...config,
      signal,
      config,
      state,
      toolCall: call,
      toolCallId: call.id,
      callKey: callKeyOf(config, place),
      writer: config.writer ?? null,
      store: config.store ?? null,
    });
  const timeoutError = (milliseconds: number) => new ToolTimeoutError(milliseconds);
  try {
    const deadline = { signal: config.signal, timeoutMs: toolTimeoutMs, timeoutError, outlivesAbort: true };
    return { kind: "returned", value: withOwnSends(await withDeadline(invoke, deadline)) };
  } catch (error) {
    if (safely(() => isLangGraphSignal(error), false) || isOfAbort(error, config.signal)) throw error;
    return safely(() => outcomeOf(error), { kind: "threw", error });
  }
}

function outcomeOf(error: unknown): CallOutcome {
  if (isTimeout(error)) return { kind: "timed-out", milliseconds: error.milliseconds, error };
  // The message names the field that does not match the tool's schema.
  if (isParsingException(error)) return { kind: "invalid-arguments", detail: error.message, error };
  return { kind: "threw", error };
}

/** The reason of the signal that a tool sees. */
class ToolTimeoutError extends Error {
  override readonly name = "ToolTimeoutError";
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`The tool did not finish within ${milliseconds} ms.`);
    this.milliseconds = milliseconds;
  }
}

function isTimeout(error: unknown): error is ToolTimeoutError {
  return isError(error) && error.name === "ToolTimeoutError";
}

/**
 * LangChain's error for arguments that do not match the tool's schema, of any copy of LangChain. It has no name of its
 * own. `output` holds the arguments.
 */
function isParsingException(error: unknown): error is ToolInputParsingException {
  return (
    isError(error) &&
    "output" in error &&
    typeof error.output === "string" &&
    (Object(error.constructor).name === "ToolInputParsingException" || PARSING_MESSAGE.test(error.message))
  );
}

/** In a bundle the class can have another name. */
const PARSING_MESSAGE = /^Received tool input did not match expected schema\b/;

/*
 * Makes the result of every tool call, no matter how the call ended.
 */

/** A result, and a function that writes it, or another result in its place, to the thread. */
interface Draft {
  readonly result: ToolMessage;
  readonly write: (result: ToolMessage) => ToolsUpdate;
}

/** @param includesDetails Whether the model reads the message of an error that a tool threw. */
export function finalizeCall(
  task: ToolTask,
  outcome: CallOutcome,
  includesDetails: boolean,
): FinalizedCall<ToolsUpdate> {
  const { result, write } = draftCall(task, outcome, includesDetails);
  return {
    result,
    ...("error" in outcome && { error: outcome.error }),
    // A middleware can set or change the result. It answers this call, even if it names another one.
    updateWith: (given, options) => {
      const last = storable(returnedResult(task, cloneMessage(given)));
      return write(options?.endsRun ? endingRun(last) : last);
    },
  };
}

function draftCall(task: ToolTask, outcome: CallOutcome, includesDetails: boolean): Draft {
  if (outcome.kind !== "returned")
    return alone(failedResult(task, describeOutcome(task.call.name, outcome, includesDetails)));
  if (isCommand(outcome.value)) return draftCommand(task, outcome.value, outcome.faults, includesDetails);
  return alone(storable(returnedResult(task, outcome.value)));
}

/**
 * The result with texts in place of values that no checkpoint can store: they would end the thread. The tool has done
 * its work, so the rest of its result is kept.
 */
function storable(result: ToolMessage): ToolMessage {
  const message = coerceMessage(result);
  return message !== undefined && isResult(message) ? message : result;
}

function alone(result: ToolMessage): Draft {
  return { result, write: (given) => ({ messages: [given] }) };
}

function describeOutcome(
  name: string,
  outcome: Exclude<CallOutcome, { kind: "returned" }>,
  includesDetails: boolean,
): string {
  switch (outcome.kind) {
    case "unknown-tool":
      return `Error: there is no tool named \`${name}\`. The tools are: ${outcome.known.join(", ") || "none"}.`;
    case "invalid-arguments":
      return `Error: the arguments of \`${name}\` were refused, so it was not run: ${outcome.detail}`;
    case "timed-out":
      return `Error: \`${name}\` did not finish within ${outcome.milliseconds} ms. It may or may not have taken effect.`;
    case "ended":
      return `Error: \`${name}\` was not run: the run was ended before this call.`;
    case "declined": {
      const reason = outcome.reason?.trim() ?? "";
      return `Error: \`${name}\` was not approved, so it was not run.${reason === "" ? "" : ` Reason: ${reason}`}`;
    }
    case "threw":
      return includesDetails
        ? `Error: \`${name}\` failed: ${messageOf(outcome.error)}`
        : `Error: \`${name}\` failed.`;
  }
}

/** Any value can be thrown, even one that cannot be converted to a string. */
function messageOf(error: unknown): string {
  try {
    // A refused connection has a code and no message.
    if (isError(error)) return error.message || String(Reflect.get(error, "code") ?? error.name);
    return typeof error === "string" ? error : (toJson(error) ?? typeof error);
  } catch {
    return "the error cannot be read";
  }
}

/**
 * A command without a result gets one next to it. A command that the thread cannot accept counts as a failure of the
 * tool.
 */
function draftCommand(
  task: ToolTask,
  command: Command,
  faults: readonly string[] = [],
  includesDetails: boolean,
): Draft {
  const failed = (text: string) =>
    draftCall(task, { kind: "threw", error: new Error(text) }, includesDetails);
  const written = messagesOfCommand(command);
  const messages = written === undefined ? [] : [written].flat().map(coerceMessage);
  if (messages.includes(undefined))
    return failed("it returned a command with a value in `messages` that is not a message");
  if (leadsToCalls(command))
    return failed(
      "it returned a command that goes to `tools` or `approve`, but only calls of the model are run",
    );
  const fault = storageFault(command);
  if (fault !== undefined)
    return alone(failedResult(task, `Error: the result of \`${task.call.name}\` was not kept: ${fault}.`));
  const isOurs = (message: BaseMessage) => isResult(message) && message.tool_call_id === task.call.id;
  const own = messages.filter((message) => message !== undefined);
  const first = own.find(isOurs);
  if (first === undefined) {
    return {
      result: faults.length === 0 ? returnedResult(task, NO_OUTPUT) : failedResult(task, faultText(faults)),
      write: (given) => [{ messages: [given] }, command],
    };
  }
  return {
    result: storable(withFaults(returnedResult(task, first), faults)),
    write: (given) => {
      const answered = own.map((message) => (isOurs(message) ? given : message));
      return commandWithMessages(command, answered);
    },
  };
}

function faultText(faults: readonly string[]): string {
  return `Error: ${faults.join(" ")}`;
}

/** The result of a tool, with what was not written before it. */
function withFaults(result: ToolMessage, faults: readonly string[]): ToolMessage {
  if (faults.length === 0) return result;
  const text = faultText(faults);
  const { content } = result;
  return copyMessage<ToolMessage>(result, {
    status: "error",
    content: typeof content === "string" ? `${text}\n\n${content}` : [{ type: "text", text }, ...content],
  });
}

/** Says what of a command, besides its messages, no checkpoint can store. */
function storageFault({ update, goto }: Command): string | undefined {
  const { messages: _written, ...fields } = readUpdate(update) ?? {};
  for (const [name, value] of Object.entries({ ...fields, goto })) {
    const demand = storageDemand(value);
    if (demand !== undefined) return `\`${name}\` must be ${demand}`;
  }
  return undefined;
}

/** A parent graph can have nodes of the same names, so commands to it are not checked. */
function leadsToCalls({ graph, goto }: Command): boolean {
  const targets = [goto ?? []].flat().map((target) => (typeof target === "string" ? target : target.node));
  return graph === undefined && targets.some((target) => target === "tools" || target === "approve");
}

function returnedResult(task: ToolTask, value: unknown): ToolMessage {
  const { id, name } = task.call;
  const given = isBaseMessage(value) ? value.content : typeof value === "string" ? value : toJson(value);
  const content = given === undefined || given.length === 0 ? NO_OUTPUT : given;
  return identified(
    task,
    isBaseMessage(value) && isResult(value)
      ? copyMessage(value, { tool_call_id: id, content })
      : new ToolMessage({ content, tool_call_id: id, name, status: "success" }),
  );
}

function failedResult(task: ToolTask, content: string): ToolMessage {
  const { id, name } = task.call;
  return identified(task, new ToolMessage({ content, tool_call_id: id, name, status: "error" }));
}

/** A tool can set an id that another message has. An id derived from the place in the thread is unique. */
function identified(task: ToolTask, result: ToolMessage): ToolMessage {
  return copyMessage(result, { id: deriveId(result, task.place) });
}

/*
 * Finds the result of a call whose run was killed before it could save its checkpoint, and is continued.
 */

/**
 * The messages that the tool of this call has written in the same superstep, with its result. Undefined if there are
 * none, or if a human has decided otherwise since.
 */
function savedMessages(
  { call, place, index }: ToolTask,
  config: LangGraphRunnableConfig,
): AgentUpdate["messages"] {
  const { input, checkpoints } = runOf(config).inputs;
  const step = stepOf(config);
  const tuple = checkpoints.abandoned;
  if (tuple === undefined || checkpoints.isFork || step === undefined || !continues(tuple, input))
    return undefined;
  const isOfCall = (message: BaseMessage) =>
    isResult(message) && callIdOf(message) === call.id && !isPlaceholder(message);
  const found = tasksOfLostRun(tuple, step, "messages")
    .map((values) => values.flat().flatMap((value) => coerceMessage(value) ?? []))
    .filter((messages) => messages.some(isOfCall));
  const [messages] = found;
  // Two calls of one message can have one id. Nobody knows to which of them a result belongs.
  const head = readHistory(config)?.messages.findLast((message) => `${message.id}:${index}` === place);
  const isOnly = head !== undefined && callsOf(head).filter(({ id }) => id === call.id).length === 1;
  if (messages === undefined || !isOnly) return undefined;
  return messages.map((message) => {
    if (isResult(message)) return isOfCall(message) ? markRecoveredResult(message) : message;
    return isAIMessage(message) ? toPlain(message) : message;
  });
}

function continues(tuple: CheckpointTuple, input: unknown): boolean {
  return (
    input === null || (isCommand(input) && input.resume !== undefined && isResumedWith(tuple, input.resume))
  );
}
