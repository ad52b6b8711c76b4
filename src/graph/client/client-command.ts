/**
 * Checks what a client sends: the `Command` of a run, or an update of a thread's state. Only calls that the model made
 * are run, so a client cannot send anything to `tools` or `approve`. A client cannot write private channels either.
 */

import { Command, END, isCommand } from "@langchain/langgraph";
import { InvalidCommandError, InvalidMessageError } from "../../errors.js";
import { isSend } from "../../langgraph/own-command.js";
import { readUpdate } from "../../nodes/tools/command-with-messages.js";
import { hasNameLike } from "../../shared/did-you-mean.js";
import { isRecord } from "../../shared/is-record.js";

export interface RunInput {
  readonly input: unknown;
  /** Whether the run only stores its input, without asking the model. */
  readonly endsAfterInput: boolean;
  /** The empty value that the caller resumed with, if any. Then the question is asked again. */
  readonly emptyAnswer: EmptyAnswer | undefined;
}

/** LangGraph treats `null` like no decision, and an empty object like an empty list of decisions by id. */
export type EmptyAnswer = "null" | "{}";

const PLAIN = { endsAfterInput: false, emptyAnswer: undefined } as const;

/**
 * Reads the input of a run. A `Command` that resumes nothing is turned into plain input. Otherwise LangGraph would run
 * the tasks of an abandoned run again, even finished ones.
 *
 * @param rules.hasStrictResume Whether a decision must name its question if several wait.
 * @param rules.ownKeys The own keys of the state.
 * @throws InvalidCommandError for a `Command` that goes anywhere but to `model` or the end.
 */
export function readRunInput(
  given: unknown,
  { hasStrictResume, ownKeys }: { readonly hasStrictResume: boolean; readonly ownKeys: readonly string[] },
): RunInput {
  if (!isCommand(given)) return { ...PLAIN, input: given };
  const command = ownCommand(given, { ownKeys, readMessages: (messages) => messages });
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

interface ReadUpdate {
  /** Contract: reads the messages of the update, and throws for malformed ones. */
  readonly readMessages: (given: unknown) => unknown;
  /** The own keys of the state. Their values are not checked here. */
  readonly ownKeys: readonly string[];
}

/**
 * The state update with checked messages, and without private channels.
 *
 * @throws InvalidCommandError like `readValues`.
 */
export function readStateUpdate<Update extends { values?: unknown }>(
  update: Update,
  read: ReadUpdate,
): Update {
  return { ...update, values: readValues(update.values, read) };
}

/**
 * The values of a state update, without private channels.
 *
 * @throws InvalidCommandError for a `Command` that goes anywhere but to `model` or the end, and for a `Send`.
 */
function readValues(values: unknown, read: ReadUpdate): unknown {
  if (isCommand(values)) return ownCommand(values, read);
  if (isSend(values)) throw refusal();
  // A list of updates. Those of a copied checkpoint are pairs with the name of their node.
  if (Array.isArray(values)) return values.map((value) => readValues(value, read));
  return isRecord(values) ? onlyPublic(values, read) : values;
}

function ownCommand(command: Command, read: ReadUpdate): Command {
  if (!targetsOf(command).every((target) => target === "model" || target === END)) throw refusal();
  const { resume, goto, update } = command;
  return new Command({
    ...(resume !== undefined && { resume }),
    ...(goto !== undefined && { goto }),
    ...(update !== undefined && update !== null && { update: onlyPublic(asRecord(update), read) }),
  });
}

function targetsOf({ goto }: Command): unknown[] {
  return [goto ?? []].flat();
}

function refusal(): InvalidCommandError {
  return new InvalidCommandError(
    "Expected `goto` to be `model` or the end of the graph. Other nodes cannot be reached, because only calls that the model makes are run.",
  );
}

/** @throws InvalidMessageError for a value that is neither an object nor a list of pairs. */
function asRecord(update: unknown): Record<string, unknown> {
  const fields = readUpdate(update);
  if (fields === undefined) throw new InvalidMessageError("update", update, AN_UPDATE);
  return fields;
}

const AN_UPDATE = "an object with `messages`";

/** @throws InvalidMessageError for an update whose `messages` are misspelt. */
function onlyPublic(
  update: Record<string, unknown>,
  { readMessages, ownKeys }: ReadUpdate,
): Record<string, unknown> {
  const own = Object.entries(update).filter(([key]) => ownKeys.includes(key));
  const values = Object.fromEntries(own);
  if (Object.hasOwn(update, "messages")) return { ...values, messages: readMessages(update["messages"]) };
  if (own.length === 0 && hasNameLike("messages", update))
    throw new InvalidMessageError("update", update, AN_UPDATE, " Did you mean `messages`?");
  return values;
}

function isEmptyObject(value: object): boolean {
  return !Array.isArray(value) && Object.keys(value).length === 0;
}
