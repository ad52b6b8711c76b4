/** How a tool call ended, and what it writes: its result, and the command that its tool returned. */

import { type BaseMessage, isBaseMessage, ToolMessage } from "@langchain/core/messages";
import { Command, END, isCommand } from "@langchain/langgraph";
import { cloneMessage, copyMessage, deriveId } from "../../history/message.js";
import { coerceMessage } from "../../history/read-messages.js";
import { endingRun, isResult, NO_OUTPUT, refusedArguments } from "../../history/result.js";
import { storageDemand } from "../../history/storable.js";
import { errorMessage, isError } from "../../shared/is-error.js";
import { safely, toJson } from "../../shared/json.js";
import {
  commandWithMessages,
  fieldsOfCommand,
  messagesOfCommand,
  readUpdate,
} from "../../threads/commands.js";
import type { ToolTask } from "../../threads/langgraph/read-checkpoints.js";
import type { OwnState } from "../../threads/own-state.js";
import type { ToolsUpdate } from "../../threads/state.js";
import type { Settings } from "../settings/settings.js";

/** Every way in which a call can end. */
export type CallOutcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | ReturnedCommand
  /** The tool returned a command that the thread cannot accept. */
  | { readonly kind: "refused-command"; readonly detail: string }
  /** The tool returned a command that no checkpoint can store. */
  | { readonly kind: "unstorable"; readonly detail: string }
  | { readonly kind: "unknown-tool"; readonly known: readonly string[] }
  | { readonly kind: "invalid-arguments"; readonly detail: string; readonly error?: unknown }
  | { readonly kind: "timed-out"; readonly milliseconds: number; readonly error: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** A middleware ended the run before the tool ran. */
  | { readonly kind: "ended" }
  /** A human did not approve the call. */
  | { readonly kind: "declined"; readonly reason: string | undefined };

interface ReturnedCommand {
  readonly kind: "command";
  readonly command: Command;
  readonly messages: readonly BaseMessage[];
  /** What is not done of the command, as sentences. */
  readonly faults: readonly string[];
  readonly endsRun: boolean;
}

/**
 * The part of a tool's command that the thread can accept: an update with known state keys only, and values as the
 * user's schema makes them. LangGraph would silently drop an unknown key, and an invalid value would end the run. The
 * model reads what is left out. A command to a parent graph may have that graph's keys.
 *
 * Contract: never rejects. If the command cannot be read, its tool counts as failed.
 */
export async function readCommand(outcome: CallOutcome, state: OwnState): Promise<CallOutcome> {
  if (outcome.kind !== "returned" || !isCommand(outcome.value)) return outcome;
  try {
    const { command, faults } = await withOwnKeys(outcome.value, state);
    const messages = [messagesOfCommand(command) ?? []].flat().map(coerceMessage);
    if (!messages.every((message) => message !== undefined))
      return { kind: "refused-command", detail: NO_MESSAGE };
    const targets = targetsOf(command);
    if (targets.some((target) => target === "tools" || target === "approve"))
      return { kind: "refused-command", detail: LEADS_TO_CALLS };
    const detail = storageFault(command);
    if (detail !== undefined) return { kind: "unstorable", detail };
    const elsewhere = targets.filter((target) => target !== "model" && target !== END);
    if (elsewhere.length > 0) faults.push(notFollowed(elsewhere));
    return {
      kind: "command",
      command: withoutTargets(command),
      messages,
      faults,
      endsRun: targets.includes(END),
    };
  } catch (error) {
    return { kind: "threw", error };
  }
}

const NO_MESSAGE = "it returned a command with a value in `messages` that is not a message";
const LEADS_TO_CALLS =
  "it returned a command that goes to `tools` or `approve`, but only calls of the model are run";
const NO_OBJECT = "Nothing was written, because the update is not an object.";

async function withOwnKeys(command: Command, state: OwnState) {
  const faults: string[] = [];
  if (command.graph !== undefined || command.update == null) return { command, faults };
  const given = readUpdate(command.update);
  if (given === undefined) return { command, faults: [NO_OBJECT] };
  const update: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (key === "messages") update[key] = value;
    else if (!state.keys.includes(key)) faults.push(unknownKey(key, state.keys));
    else {
      try {
        update[key] = await state.read(key, value);
      } catch (error) {
        faults.push(`\`${key}\` was not written. ${errorMessage(error)}`);
      }
    }
  }
  return { command: new Command({ ...fieldsOfCommand(command), update }), faults };
}

function unknownKey(key: string, own: readonly string[]): string {
  const known = ["messages", ...own].map((name) => `\`${name}\``).join(", ");
  return `\`${key}\` was not written, because the state has no such key. Its keys are: ${known}.`;
}

/** Where a command goes in this graph. A parent graph can have nodes with the same names. */
function targetsOf({ graph, goto }: Command): string[] {
  if (graph !== undefined) return [];
  return [goto ?? []].flat().map((target) => (typeof target === "string" ? target : target.node));
}

/** After its tools the graph asks the model or ends. */
function withoutTargets(command: Command): Command {
  return targetsOf(command).length === 0 ? command : new Command({ ...fieldsOfCommand(command), goto: [] });
}

function notFollowed(targets: readonly string[]): string {
  const names = targets.map((target) => `\`${target}\``).join(", ");
  return `\`goto\` was not followed to ${names}: a tool can go to the end of this graph, or with \`graph: Command.PARENT\` to a node of the parent graph.`;
}

/** Says which part of a command, besides its messages, no checkpoint can store. */
function storageFault({ update, goto }: Command): string | undefined {
  const { messages: _written, ...fields } = readUpdate(update) ?? {};
  for (const [name, value] of Object.entries({ ...fields, goto })) {
    const demand = storageDemand(value);
    if (demand !== undefined) return `\`${name}\` must be ${demand}`;
  }
  return undefined;
}

export interface FinalizedCall {
  readonly result: ToolMessage;
  /** What the tool threw; undefined if it returned. */
  readonly error?: unknown;
  /** Makes the call's update of the thread, with this result. */
  readonly updateWith: (result: ToolMessage) => ToolsUpdate;
}

/** Makes a call's result, however the call ended. */
export function finalizeCall(
  task: ToolTask,
  outcome: CallOutcome,
  settings: Pick<Settings, "includeDetailedErrors" | "terminateOnUnknownCalls">,
): FinalizedCall {
  if (outcome.kind === "command") return finalizeCommand(task, outcome);
  const updateWith = (result: ToolMessage) => ({ messages: [result] });
  if (outcome.kind === "returned") return { result: resultOf(task, outcome.value), updateWith };
  const text = describeFailure(task.call.name, outcome, settings.includeDetailedErrors);
  const failed = failedResult(task, text);
  const endsRun = outcome.kind === "unknown-tool" && settings.terminateOnUnknownCalls;
  const result = endsRun ? endingRun(failed) : failed;
  return { result, ...("error" in outcome && { error: outcome.error }), updateWith };
}

/** A command without a result gets one beside it. */
function finalizeCommand(
  task: ToolTask,
  { command, messages, faults, endsRun }: ReturnedCommand,
): FinalizedCall {
  const isOurs = (message: BaseMessage) => isResult(message) && message.tool_call_id === task.call.id;
  const first = messages.find(isOurs);
  const problem = faults.length === 0 ? undefined : `Error: ${faults.join(" ")}`;
  const marked = (result: ToolMessage) => (endsRun ? endingRun(result) : result);
  if (first === undefined) {
    const result = problem === undefined ? marked(resultOf(task, NO_OUTPUT)) : failedResult(task, problem);
    return { result, updateWith: (given) => [{ messages: [given] }, command] };
  }
  const result = resultOf(task, first);
  return {
    result: problem === undefined ? marked(result) : withProblem(result, problem),
    updateWith: (given) =>
      commandWithMessages(
        command,
        messages.map((message) => (isOurs(message) ? given : message)),
      ),
  };
}

/** The tool's result, preceded by what was not written. */
function withProblem(result: ToolMessage, text: string): ToolMessage {
  const { content } = result;
  return copyMessage<ToolMessage>(result, {
    status: "error",
    content: typeof content === "string" ? `${text}\n\n${content}` : [{ type: "text", text }, ...content],
  });
}

function describeFailure(
  name: string,
  outcome: Exclude<CallOutcome, { kind: "returned" | "command" }>,
  includesDetails: boolean,
): string {
  const failed = (detail: string) =>
    includesDetails ? `Error: \`${name}\` failed: ${detail}` : `Error: \`${name}\` failed.`;
  switch (outcome.kind) {
    case "threw":
      return failed(messageOf(outcome.error));
    case "refused-command":
      return failed(outcome.detail);
    case "unstorable":
      return `Error: the result of \`${name}\` was not kept: ${outcome.detail}.`;
    case "unknown-tool":
      return `Error: there is no tool named \`${name}\`. The tools are: ${outcome.known.join(", ") || "none"}.`;
    case "invalid-arguments":
      return refusedArguments(name, outcome.detail);
    case "timed-out":
      return `Error: \`${name}\` did not finish within ${outcome.milliseconds} ms. It may or may not have taken effect.`;
    case "ended":
      return `Error: \`${name}\` was not run: the run was ended before this call.`;
    case "declined": {
      const reason = outcome.reason?.trim() ?? "";
      return `Error: \`${name}\` was not approved, so it was not run.${reason === "" ? "" : ` Reason: ${reason}`}`;
    }
  }
}

/** Any value can be thrown, even one that cannot be converted to a string. */
function messageOf(error: unknown): string {
  return safely(() => {
    // A refused connection has a code and no message.
    if (isError(error)) return error.message || String(Reflect.get(error, "code") ?? error.name);
    return typeof error === "string" ? error : (toJson(error) ?? typeof error);
  }, "the error cannot be read");
}

/**
 * The value as this call's result, even if it is a result that names another call. Text replaces values that no
 * checkpoint can store: they would end the thread, although the tool has done its work.
 */
export function resultOf(task: ToolTask, value: unknown): ToolMessage {
  const { id, name } = task.call;
  // A copy, because the tool or the middleware may change its message later.
  const message = isBaseMessage(value) ? cloneMessage(value) : undefined;
  const given = message?.content ?? (typeof value === "string" ? value : toJson(value));
  const content = given === undefined || given.length === 0 ? NO_OUTPUT : given;
  const result = identified(
    task,
    message !== undefined && isResult(message)
      ? copyMessage(message, { tool_call_id: id, content })
      : new ToolMessage({ content, tool_call_id: id, name, status: "success" }),
  );
  const storable = coerceMessage(result);
  return storable !== undefined && isResult(storable) ? storable : result;
}

function failedResult(task: ToolTask, content: string): ToolMessage {
  const { id, name } = task.call;
  return identified(task, new ToolMessage({ content, tool_call_id: id, name, status: "error" }));
}

/** A tool can set an id that another message has. An id derived from the place in the thread is unique. */
function identified(task: ToolTask, result: ToolMessage): ToolMessage {
  return copyMessage(result, { id: deriveId(result, task.place) });
}
