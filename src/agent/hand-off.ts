/**
 * A hand-off: a tool returns a `Command` to the parent graph. LangGraph then ends this graph, and drops what the other
 * calls of the batch have returned. So the command takes their messages with it.
 */

import { Command, isCommand } from "@langchain/langgraph";
import { callsOf } from "../history/call.js";
import { callIdOf, isResult } from "../history/result.js";
import { isError } from "../shared/is-error.js";
import {
  commandWithMessages,
  fieldsOfCommand,
  messagesAmong,
  messagesOf,
  messagesOfCommand,
  readUpdate,
} from "../threads/commands.js";
import type { OwnState } from "../threads/own-state.js";
import type { ToolsUpdate } from "../threads/state.js";

export function isHandOff(update: ToolsUpdate): boolean {
  return [update].flat().some(goesToParent);
}

function goesToParent(update: unknown): update is Command {
  return isCommand(update) && update.graph === Command.PARENT;
}

/**
 * The hand-off with the messages of its batch: results in call order after the message with the calls, then all others.
 * A command without the message with the calls stays as it is: the parent graph would have no call for the results.
 *
 * @param callId The id of the call that handed off.
 * @param batch The updates of all calls of the batch.
 */
export function withBatch(update: ToolsUpdate, callId: string, batch: readonly ToolsUpdate[]): ToolsUpdate {
  const updates = [update].flat().map((one) => (goesToParent(one) ? joined(one, callId, batch) : one));
  return updates.length === 1 ? (updates[0] ?? update) : updates;
}

function joined(command: Command, callId: string, batch: readonly ToolsUpdate[]): Command {
  const messages = messagesAmong(messagesOfCommand(command));
  const head = messages.findLastIndex((message) => callsOf(message).some(({ id }) => id === callId));
  const asking = messages[head];
  if (asking === undefined) return command;
  const followers = messages.slice(head + 1);
  const written = [...followers, ...batch.flatMap(messagesOf)].filter(isResult);
  // The first of several results of a call counts.
  const byCall = new Map(written.toReversed().map((result) => [callIdOf(result), result]));
  const results = callsOf(asking).flatMap(({ id }) => byCall.get(id) ?? []);
  const others = batch.filter((other) => !isHandOff(other)).flatMap(messagesOf);
  return commandWithMessages(command, [
    ...messages.slice(0, head + 1),
    ...results,
    ...[...others, ...followers].filter((message) => !isResult(message) && message.type !== "remove"),
  ]);
}

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

/*
 * Checks what the command of a tool writes to the state, before it is written.
 */

/**
 * A command whose update has only keys of the state, with values as the user's schema makes them. LangGraph would drop
 * an unknown key in silence, and a value that does not match would end the run. What is left out is told to the model.
 * A command to a parent graph is not checked, because its keys are those of that graph.
 *
 * Contract: never rejects. If the command cannot be read, its tool counts as failed.
 */
export async function checkCommand(outcome: CallOutcome, state: OwnState): Promise<CallOutcome> {
  try {
    return outcome.kind === "returned" && isCommand(outcome.value) && outcome.value.graph === undefined
      ? await check(outcome.value, state)
      : outcome;
  } catch (error) {
    return { kind: "threw", error };
  }
}

async function check(command: Command, state: OwnState): Promise<CallOutcome> {
  const whole = { kind: "returned", value: command } as const;
  if (command.update === undefined || command.update === null) return whole;
  const given = readUpdate(command.update);
  if (given === undefined) return { ...whole, faults: [NO_OBJECT] };
  const update: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (key === "messages") update[key] = value;
    else if (!state.keys.includes(key)) faults.push(unknownKey(key, state.keys));
    else {
      try {
        update[key] = await state.read(key, value);
      } catch (error) {
        faults.push(`\`${key}\` was not written. ${isError(error) ? error.message : ""}`.trim());
      }
    }
  }
  if (faults.length === 0 && state.keys.length === 0) return whole;
  return { kind: "returned", value: new Command({ ...fieldsOfCommand(command), update }), faults };
}

const NO_OBJECT = "Nothing was written, because the update is not an object.";

function unknownKey(key: string, own: readonly string[]): string {
  const known = ["messages", ...own].map((name) => `\`${name}\``).join(", ");
  return `\`${key}\` was not written, because the state has no such key. Its keys are: ${known}.`;
}
