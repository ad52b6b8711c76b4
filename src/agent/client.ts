/**
 * The door: what a client sends as the input of a run or as an update of a thread is read and checked here. What a
 * parent graph passes to a subgraph does not come here, and neither do messages of middleware and tools.
 */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Command, END, isCommand, type StateSnapshot } from "@langchain/langgraph";
import { InvalidCommandError, InvalidMessageError } from "../errors.js";
import { callsOf } from "../history/call.js";
import { isTrusted, MARKS, withoutMarks } from "../history/marks.js";
import { cloneMessage, REMOVE_ALL_MESSAGES, toPlain } from "../history/message.js";
import { isSmallAndSound, issueOfShape } from "../history/message-shape.js";
import { parseMessages } from "../history/messages-schema.js";
import { type UnansweredCall, unansweredCalls } from "../history/open-calls.js";
import { convertMessage, messageExpectation } from "../history/read-messages.js";
import { hasMessage } from "../history/reducer/normalize-history.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { createRepair, type Repair } from "../history/reducer/repair.js";
import { callIdOf, causeInText, isMadeUpResult, isResult } from "../history/result.js";
import { storageDemand } from "../history/storable.js";
import { safely, toJson } from "../shared/json.js";
import { hasNameLike } from "../shared/text.js";
import { isRecord } from "../shared/values.js";
import { type ArchiveReader, findReturned, isArchived, type Returned } from "../threads/archive.js";
import {
  commandWithMessages,
  fieldsOfCommand,
  isSend,
  messagesOfCommand,
  readUpdate,
} from "../threads/commands.js";
import type { AgentEvent } from "../threads/events.js";
import type { OwnState } from "../threads/own-state.js";

/** What the graph lets clients do. */
interface ClientRules {
  readonly settings: MessageRules & { readonly autoInvoke: boolean };
  /** The tools whose calls the graph runs, by name. */
  readonly tools: ReadonlyMap<string, unknown>;
}

/** Contract: reads the state that the input or the update will change. Only called if it has a tool result. */
export type ReadThread = () => Promise<StateSnapshot>;

interface AdmittedInput {
  readonly input: unknown;
  /** What was changed, for the client. */
  readonly events: readonly AgentEvent[];
}

/** The archive of the thread, if the graph archives what summaries cover. */
export interface ThreadArchive {
  readonly store: ArchiveReader;
  readonly threadId: string;
}

/**
 * The input of a run with sound messages. Results of calls that this graph answers are left out, and so is what a summary
 * has archived: a client that sends its whole list with each run would bring it back.
 *
 * @throws InvalidMessageError for a message that is malformed, and InvalidCommandError for a decision that no
 * checkpoint can store.
 */
export async function admitInput(
  input: unknown,
  rules: ClientRules,
  readThread: ReadThread | undefined,
  archive: ThreadArchive | undefined,
): Promise<AdmittedInput> {
  if (isCommand(input)) assertDecision(input);
  const given = isCommand(input) ? messagesOfCommand(input) : isRecord(input) ? input["messages"] : undefined;
  if (given === undefined) return { input, events: [] };
  const { messages, repairs } = readClientMessages(given, rules.settings);
  const refused = await findRefused(messages, rules, readThread);
  const returned = await findArchived(messages, readThread, archive);
  const events: AgentEvent[] = [
    ...returned.events,
    ...repairs.map(({ by }) => ({ type: "role-changed" as const, messageId: by.id })),
    ...[...refused.values()].map(({ call }) => ({
      type: "result-refused" as const,
      tool: call.name,
      callId: call.id,
    })),
  ];
  return {
    input: withSoundMessages(
      input,
      messages.filter((message) => !refused.has(message) && !returned.messages.has(message)),
    ),
    events,
  };
}

async function findArchived(
  messages: readonly BaseMessage[],
  readThread: ReadThread | undefined,
  archive: ThreadArchive | undefined,
): Promise<Returned> {
  if (archive !== undefined && readThread !== undefined) {
    const { store, threadId } = archive;
    // Most clients send only new messages. The thread is not read for them.
    const known = await Promise.all(messages.map(({ id }) => id && isArchived(store, threadId, id)));
    if (known.includes(true)) {
      const { values } = await readThread();
      const removals = messages.filter(({ type }) => type === "remove");
      const history = reduceMessages(values.messages, removals).messages;
      const given = messages.filter(({ id = "" }) => !hasMessage(history, id));
      return findReturned(given, history, store, threadId);
    }
  }
  return { messages: new Set(), events: [] };
}

/**
 * Makes the reader of the messages in an update of the state, and a check to run before the update is made.
 *
 * @param publish Gets what was changed.
 */
export function admitUpdates(rules: ClientRules, publish: (repairs: readonly Repair[]) => void) {
  const admitted: BaseMessage[] = [];
  return {
    /** @throws InvalidMessageError for a message that is malformed. */
    read: (given: unknown): readonly BaseMessage[] => {
      const { messages, repairs } = readClientMessages(given, rules.settings);
      publish(repairs);
      admitted.push(...messages);
      return messages;
    },
    /** @throws InvalidMessageError that names a call whose result is not the client's to give. */
    assertOwnResults: async (readThread: ReadThread): Promise<void> => {
      for (const [message, { call }] of await findRefused(admitted, rules, readThread)) {
        const hint = ` The call of \`${call.name}\` (${call.id}) waits for approval or for its tool: resume the run with a decision, or send a message.`;
        throw new InvalidMessageError(
          "messages",
          message,
          "messages without a result of a call that this graph answers",
          hint,
        );
      }
    },
  };
}

function assertDecision({ resume }: Command): void {
  const demand = storageDemand(resume);
  if (demand !== undefined) throw new InvalidCommandError(`Expected \`resume\` to be ${demand}.`);
}

type Refused = ReadonlyMap<BaseMessage, UnansweredCall>;

async function findRefused(
  messages: readonly BaseMessage[],
  { settings, tools }: ClientRules,
  readThread: ReadThread | undefined,
): Promise<Refused> {
  if (readThread === undefined || !messages.some(isClaim)) return new Map();
  const { next, values } = await readThread();
  // Tasks of these nodes answer the calls. A thread without them waits for its caller.
  if (!next.some((node) => node === "tools" || node === "approve")) return new Map();
  const history: unknown = values.messages;
  const { pending } = unansweredCalls(Array.isArray(history) ? history : []);
  return claimsOf(
    messages,
    // Those whose calls this graph runs, and not the caller of the run.
    pending.filter(({ call }) => settings.autoInvoke && tools.has(call.name)),
  );
}

/** agent-chat-ui makes up results. They count as placeholders. */
function isClaim(message: BaseMessage): boolean {
  return isResult(message) && !isMadeUpResult(message);
}

function claimsOf(messages: readonly BaseMessage[], own: readonly UnansweredCall[]): Refused {
  const open = new Map(own.map((unanswered) => [unanswered.call.id, unanswered]));
  const refused = new Map<BaseMessage, UnansweredCall>();
  for (const message of messages) {
    const isOwnHead = own.some(({ group }) => group.head.id === message.id);
    if (message.type === "remove" && (isOwnHead || message.id === REMOVE_ALL_MESSAGES)) open.clear();
    // A result after this message answers its call, not the stored one.
    if (!isOwnHead) for (const { id } of callsOf(message)) open.delete(id);
    const claimed = isClaim(message) && isResult(message) ? open.get(callIdOf(message)) : undefined;
    if (claimed !== undefined) refused.set(message, claimed);
  }
  return refused;
}

/*
 * Checks what a client or a parent graph writes to the own keys of the state.
 */

/**
 * The input of a run, or the values of a state update, with own keys as the schema of the user makes them. An own key
 * that is undefined counts as left out.
 *
 * @throws InvalidStateError for the first value that does not match its schema.
 */
export async function admitValues<Values>(values: Values, state: OwnState): Promise<Values> {
  return (state.keys.length === 0 ? values : await admit(values, state)) as Values;
}

async function admit(values: unknown, state: OwnState): Promise<unknown> {
  if (isCommand(values)) {
    const update = readUpdate(values.update);
    if (update === undefined) return values;
    return new Command({ ...fieldsOfCommand(values), update: await admitFields(update, state) });
  }
  // A list of updates. Those of a copied checkpoint are pairs with the name of their node.
  if (Array.isArray(values)) return Promise.all(values.map((value) => admit(value, state)));
  return isRecord(values) ? admitFields(values, state) : values;
}

async function admitFields(
  fields: Record<string, unknown>,
  { keys, read }: OwnState,
): Promise<Record<string, unknown>> {
  const admitted: Record<string, unknown> = { ...fields };
  for (const key of keys) {
    const value = fields[key];
    if (value === undefined) delete admitted[key];
    else admitted[key] = await read(key, value);
  }
  return admitted;
}

/*
 * Checks what a client sends: the `Command` of a run, or an update of a thread's state. Only calls that the model made
 * are run, so a client cannot send anything to `tools` or `approve`. A client cannot write private channels either.
 */

export interface RunInput {
  readonly input: unknown;
  /** Whether the run only stores its input, without asking the model. */
  readonly endsAfterInput: boolean;
  /** The empty value that the caller resumed with, if any. Then the question is asked again. */
  readonly emptyAnswer: EmptyAnswer | undefined;
}

/** LangGraph treats `null` like no decision, and an empty object like an empty list of decisions by id. */
type EmptyAnswer = "null" | "{}";

const PLAIN = { endsAfterInput: false, emptyAnswer: undefined } as const;

/**
 * Reads the input of a run. A `Command` that resumes nothing is turned into plain input. Otherwise LangGraph would run
 * the tasks of an abandoned run again, even finished ones.
 *
 * @param hasStrictResume Whether a decision must name its question if several wait.
 * @param ownKeys The own keys of the state.
 * @throws InvalidCommandError for a `Command` that goes anywhere but to `model` or the end.
 */
export function readRunInput(given: unknown, hasStrictResume: boolean, ownKeys: readonly string[]): RunInput {
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
  if (isSend(values)) throw wrongTarget();
  // A list of updates. Those of a copied checkpoint are pairs with the name of their node.
  if (Array.isArray(values)) return values.map((value) => readValues(value, read));
  return isRecord(values) ? onlyPublic(values, read) : values;
}

function ownCommand(command: Command, read: ReadUpdate): Command {
  if (!targetsOf(command).every((target) => target === "model" || target === END)) throw wrongTarget();
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

function wrongTarget(): InvalidCommandError {
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

/*
 * The door: reads the messages that a client sends, as the input of a run or as an update of a thread's state. What a
 * parent graph passes to a subgraph does not come here, and neither do messages of middleware and tools.
 */

interface ClientMessages {
  readonly messages: readonly BaseMessage[];
  /** The system messages that became the user's words. */
  readonly repairs: readonly RoleChanged[];
}

/** What the messages of clients may be. */
export interface MessageRules {
  /** Whether a system message stays one. Otherwise it becomes a message of the user. */
  readonly acceptSystemMessages: boolean;
  /** How many characters a message may have as JSON. */
  readonly maxMessageLength: number;
}

type RoleChanged = Extract<Repair, { readonly kind: "role-changed" }>;

/**
 * Reads what a client sends as `messages`: one message-like or several. Marks of this library are taken off, unless the
 * library itself has returned the message in this process.
 *
 * @throws InvalidMessageError for a value that is not a message, has a field of another shape, or is too long. It names
 * the path.
 */
function readClientMessages(given: unknown, rules: MessageRules): ClientMessages {
  const isList = Array.isArray(given);
  const repairs: RoleChanged[] = [];
  const messages = [given].flat().map((value: unknown, index) => {
    const place = isList ? `messages[${index}]` : "messages";
    const { message, repair } = readClientMessage(value, place, rules);
    if (repair !== undefined) repairs.push(repair);
    return message;
  });
  return { messages, repairs };
}

export interface ClientRead {
  readonly message: BaseMessage;
  /** If the message was a system message and became the user's words. */
  readonly repair?: RoleChanged;
}

/**
 * Reads one message in the same way.
 *
 * @param place What errors call the value.
 * @throws InvalidMessageError like {@link readClientMessages}.
 */
export function readClientMessage(value: unknown, place: string, rules: MessageRules): ClientRead {
  const message = readSound(value, place);
  if (isTrusted(value)) return { message };
  assertLength(message, place, rules);
  const unmarked = withoutForeignMarks(message);
  if (rules.acceptSystemMessages || !speaksAsSystem(unmarked)) return { message: unmarked };
  const by = asUser(unmarked);
  return { message: by, repair: createRepair({ kind: "role-changed", message: unmarked, by }) };
}

function readSound(value: unknown, place: string): BaseMessage {
  const message = convertMessage(value);
  if (message === undefined) throw unreadable(value, place);
  const issue = isSmallAndSound(message) ? undefined : issueOfShape(message);
  if (issue === undefined) return message;
  throw new InvalidMessageError(`${place}.${issue.path}`, issue.value, issue.expectation);
}

function assertLength(message: BaseMessage, place: string, { maxMessageLength }: MessageRules): void {
  if (maxMessageLength === Number.POSITIVE_INFINITY) return;
  const length = toJson(toPlain(message))?.length ?? Number.POSITIVE_INFINITY;
  if (length <= maxMessageLength) return;
  const expectation = `a message of at most ${maxMessageLength} characters`;
  throw new InvalidMessageError(place, `a message of ${length} characters`, expectation);
}

/** Even a value that cannot be read is refused by its place. */
function unreadable(value: unknown, place: string): InvalidMessageError {
  return safely(
    () => describedRefusal(value, place),
    new InvalidMessageError(place, value, "a message that can be read"),
  );
}

/** A value with a known role is a message with a wrong field. */
function describedRefusal(value: unknown, place: string): InvalidMessageError {
  const issue = isRecord(value) ? missingField(value) : undefined;
  if (issue !== undefined)
    return new InvalidMessageError(`${place}.${issue.path}`, issue.value, issue.expectation);
  const { expectation, hint } = messageExpectation(value) ?? {};
  return new InvalidMessageError(place, value, expectation, hint);
}

function missingField(value: Record<string, unknown>) {
  const type = value["role"] ?? value["type"];
  return type === "tool" || type === "ai"
    ? issueOfShape({ content: "", additional_kwargs: {}, response_metadata: {}, ...value, type })
    : undefined;
}

/** The text of a placeholder says the same as its mark, so the mark stays. Thus a thread can be sent back over HTTP. */
function withoutForeignMarks(message: BaseMessage): BaseMessage {
  const isPlaceholder =
    message.additional_kwargs[MARKS.placeholder] !== undefined && causeInText(message) !== undefined;
  return isPlaceholder ? message : withoutMarks(message);
}

export function speaksAsSystem(message: BaseMessage): boolean {
  if (message.type === "system") return true;
  return "role" in message && (message.role === "system" || message.role === "developer");
}

function asUser({ id, content, name }: BaseMessage): HumanMessage {
  return new HumanMessage({ content, ...(id !== undefined && { id }), ...(name !== undefined && { name }) });
}

/*
 * The input of a run: its check, and its messages, which agent middleware can read and change.
 */

/**
 * Refuses an object without `messages`: LangGraph would end the run without asking the model. Missing input passes,
 * because LangGraph itself reports it if the thread has nothing to continue.
 *
 * @param isSubgraph Whether the input is the state of a parent graph, where `messages` can be missing.
 * @throws InvalidMessageError for an input that is not undefined, null, a `Command` or an object with `messages`.
 */
export function assertRunInput(input: unknown, isSubgraph: boolean): void {
  if (input === undefined || input === null || isCommand(input)) return;
  const isObject = isRecord(input);
  if (isObject && (isSubgraph || input["messages"] !== undefined)) return;
  const expectation = "an object with `messages`, a `Command` or null";
  const hint = isObject && hasNameLike("messages", input) ? " Did you mean `messages`?" : "";
  throw new InvalidMessageError("input", input, expectation, hint);
}

/** An input without keys that the state does not have. LangGraph would store them in the first checkpoint. */
export function onlyKeysOfState(input: unknown, ownKeys: readonly string[]): unknown {
  if (!isRecord(input) || isCommand(input)) return input;
  const isOfState = (key: string): boolean => key === "messages" || ownKeys.includes(key);
  const keys = Object.keys(input);
  return keys.every(isOfState)
    ? input
    : Object.fromEntries(keys.filter(isOfState).map((key) => [key, input[key]]));
}

/**
 * The messages of an input. They are copies, so that middleware does not change the caller's messages.
 *
 * @throws InvalidMessageError for a value that is not a message.
 */
export function messagesOfInput(input: unknown): BaseMessage[] {
  const given = isCommand(input) ? messagesOfCommand(input) : isRecord(input) ? input["messages"] : undefined;
  return given === undefined ? [] : parseMessages(given).map(cloneMessage);
}

/** The ids of the messages of an input. The reducer writes an id into a message that comes without one. */
export function idsInInput(input: unknown): string[] {
  const given = isCommand(input) ? messagesOfCommand(input) : isRecord(input) ? input["messages"] : undefined;
  const ids = [given].flat().map((message: unknown) => (isRecord(message) ? message["id"] : undefined));
  return ids.filter((id) => typeof id === "string");
}

/**
 * A copy of the input with other messages. Input that continues a stopped run stays the same if there are no messages.
 *
 * @throws InvalidMessageError if a middleware added a value that is not a message.
 */
export function withMessages(input: unknown, given: readonly unknown[]): unknown {
  return withSoundMessages(input, parseMessages(given));
}

/** The same, with messages that were read before. */
function withSoundMessages(input: unknown, messages: BaseMessage[]): unknown {
  if (isCommand(input)) {
    const isUntouched = messages.length === 0 && messagesOfCommand(input) === undefined;
    return isUntouched ? input : commandWithMessages(input, messages);
  }
  if (isRecord(input)) return { ...input, messages };
  return messages.length === 0 ? input : { messages };
}
