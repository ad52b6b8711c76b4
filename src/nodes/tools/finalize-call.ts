/** Makes the result of every tool call, no matter how the call ended. */

import { type BaseMessage, isBaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Command, isCommand } from "@langchain/langgraph";
import { cloneMessage } from "../../history/messages/clone-message.js";
import { copyMessage } from "../../history/messages/copy-message.js";
import { deriveId } from "../../history/messages/message-id.js";
import { endingRun, isResult, NO_OUTPUT } from "../../history/messages/result.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { storageDemand } from "../../history/reading/storable.js";
import type { FinalizedCall } from "../../middleware/run-tool-middleware.js";
import { isError } from "../../shared/is-error.js";
import { toJson } from "../../shared/to-json.js";
import type { AgentUpdate } from "../run/agent-state.js";
import { commandWithMessages, messagesOfCommand, readUpdate } from "./command-with-messages.js";
import type { ToolTask } from "./tool-task.js";

/** Every way in which a call can end. */
export type CallOutcome =
  | {
      readonly kind: "returned";
      readonly value: unknown;
      /** What of a returned command was not written, as sentences. */
      readonly faults?: readonly string[];
    }
  | { readonly kind: "unknown-tool"; readonly known: readonly string[] }
  | { readonly kind: "invalid-arguments"; readonly detail: string; readonly error?: unknown }
  | { readonly kind: "timed-out"; readonly milliseconds: number; readonly error: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** A middleware ended the run before the tool was run. */
  | { readonly kind: "ended" }
  /** A human did not approve the call. */
  | { readonly kind: "declined"; readonly reason: string | undefined };

export type ToolsUpdate = AgentUpdate | Command | (AgentUpdate | Command)[];

/** A result, and a function that writes it, or another result in its place, to the thread. */
interface Draft {
  readonly result: ToolMessage;
  readonly write: (result: ToolMessage) => ToolsUpdate;
}

/** What a call writes if no middleware has seen its result, which can then be nothing else than `result`. */
interface UnseenCall {
  readonly update: (options: { readonly endsRun: boolean }) => ToolsUpdate;
}

/** @param includesDetails Whether the model reads the message of an error that a tool threw. */
export function finalizeCall(
  task: ToolTask,
  outcome: CallOutcome,
  includesDetails: boolean,
): FinalizedCall<ToolsUpdate> & UnseenCall {
  const { result, write } = draftCall(task, outcome, includesDetails);
  const writeLast = (last: ToolMessage, endsRun = false) => write(endsRun ? endingRun(last) : last);
  return {
    result,
    ...("error" in outcome && { error: outcome.error }),
    update: ({ endsRun }) => writeLast(result, endsRun),
    // A middleware can set or change the result. It answers this call, even if it names another one.
    updateWith: (given, options) =>
      writeLast(storable(returnedResult(task, cloneMessage(given))), options?.endsRun),
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

function unstorable(task: ToolTask, reason: string): ToolMessage {
  return failedResult(task, `Error: the result of \`${task.call.name}\` was not kept: ${reason}.`);
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
  const written = messagesOfCommand(command);
  const messages = written === undefined ? [] : [written].flat().map(coerceMessage);
  if (messages.includes(undefined)) {
    const error = new Error("it returned a command with a value in `messages` that is not a message");
    return draftCall(task, { kind: "threw", error }, includesDetails);
  }
  if (leadsToCalls(command)) {
    const error = new Error(
      "it returned a command that goes to `tools` or `approve`, but only calls of the model are run",
    );
    return draftCall(task, { kind: "threw", error }, includesDetails);
  }
  const fault = storageFault(command);
  if (fault !== undefined) return alone(unstorable(task, fault));
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
