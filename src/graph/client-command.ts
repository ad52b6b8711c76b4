/**
 * What a client may ask of a run by a `Command`, and of a thread by an update of its state. Only calls that the model
 * node wrote are run, so no client sends anything to `tools` or `approve`; and no client writes the private channels.
 */

import { Command, END, isCommand, Send } from "@langchain/langgraph";
import { InvalidCommandError } from "../errors.js";
import { isRecord } from "../shared/is-record.js";

export interface RunInput {
  readonly input: unknown;
  /** Whether the run only takes its input: the model is not asked. */
  readonly endsAfterInput: boolean;
  /** An answer that answers nothing, if that is what the caller has given: the question is asked again. */
  readonly emptyAnswer: EmptyAnswer | undefined;
}

/** LangGraph cannot tell `null` from no answer, and takes an empty object for a list of answers by id. */
export type EmptyAnswer = "null" | "{}";

const PLAIN = { endsAfterInput: false, emptyAnswer: undefined } as const;

/**
 * The input of a run. A `Command` that answers nothing is taken as input: LangGraph would run the tasks of an abandoned
 * run once more, also those that have finished.
 *
 * @param hasStrictResume Whether an answer must name its question where several wait.
 * @throws InvalidCommandError for a `Command` that goes elsewhere than to the model or to the end.
 */
export function readRunInput(given: unknown, hasStrictResume: boolean): RunInput {
  if (!isCommand(given)) return { ...PLAIN, input: given };
  const command = ownCommand(given);
  const isEmptyList = hasStrictResume && isRecord(given.resume) && isEmptyObject(given.resume);
  if (isEmptyList) return { ...PLAIN, input: null, emptyAnswer: "{}" };
  if (command.resume !== undefined && command.resume !== null) return { ...PLAIN, input: command };
  const targets = targetsOf(command);
  const isEmpty = targets.length === 0 && command.update === undefined;
  if (isEmpty && given.resume === null) return { ...PLAIN, input: null, emptyAnswer: "null" };
  if (isEmpty) return { ...PLAIN, input: given };
  const input = command.update ?? { messages: [] };
  return { ...PLAIN, input, endsAfterInput: !targets.includes("model") };
}

/** The update as `readValues` leaves it. */
export function readStateUpdate<Update extends { values?: unknown }>(update: Update): Update {
  return { ...update, values: readValues(update.values) };
}

/**
 * The values of a state update, without what is private to the graph.
 *
 * @throws InvalidCommandError for a `Command` that goes elsewhere than to the model or to the end, and for a `Send`.
 */
function readValues(values: unknown): unknown {
  if (isCommand(values)) return ownCommand(values);
  if (values instanceof Send) throw refusal();
  // Several updates, and those of a copied checkpoint, which stand in pairs with the names of their nodes.
  if (Array.isArray(values)) return values.map(readValues);
  return isRecord(values) ? onlyMessages(values) : values;
}

function ownCommand(command: Command): Command {
  if (!targetsOf(command).every((target) => target === "model" || target === END)) throw refusal();
  const { resume, goto, update } = command;
  return new Command({
    ...(resume !== undefined && { resume }),
    ...(goto !== undefined && { goto }),
    ...(update !== undefined && update !== null && { update: onlyMessages(asRecord(update)) }),
  });
}

function targetsOf({ goto }: Command): unknown[] {
  return [goto ?? []].flat();
}

function refusal(): InvalidCommandError {
  return new InvalidCommandError(
    "A run can be sent to `model` or to the end by name, not to `tools` or elsewhere: only calls that the model makes are run.",
  );
}

/** An update may be a list of names and values. */
function asRecord(update: object): Record<string, unknown> {
  return Array.isArray(update) ? Object.fromEntries(update) : { ...update };
}

function onlyMessages(update: Record<string, unknown>): Record<string, unknown> {
  return Object.hasOwn(update, "messages") ? { messages: update["messages"] } : {};
}

function isEmptyObject(value: object): boolean {
  return !Array.isArray(value) && Object.keys(value).length === 0;
}
