/**
 * Reads and checks what a client sends as a run's input or a thread's update. What a parent graph passes
 * to a subgraph does not come here, nor do messages from middleware and tools.
 */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { type CheckpointTuple, Command, END, isCommand, type StateSnapshot } from "@langchain/langgraph";
import { InvalidCommandError, InvalidMessageError } from "../../errors.js";
import { callsOf } from "../../history/call.js";
import { isTrusted } from "../../history/marks.js";
import { cloneMessage, REMOVE_ALL_MESSAGES } from "../../history/message.js";
import { issueOfShape } from "../../history/message-shape.js";
import { type UnansweredCall, unansweredCalls } from "../../history/open-calls.js";
import { convertMessage, lacksContent, messageExpectation } from "../../history/read-messages.js";
import { parseMessages } from "../../history/reducer/messages-schema.js";
import { hasMessage } from "../../history/reducer/normalize-history.js";
import { publishRepairs } from "../../history/reducer/paired-messages.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { createRepair, type Repair } from "../../history/repair.js";
import { callIdOf, isMadeUpResult, isResult } from "../../history/result.js";
import { storageDemand } from "../../history/storable.js";
import { findReturned } from "../../history/summary.js";
import { safely } from "../../shared/json.js";
import { hasNameLike } from "../../shared/text.js";
import { defined, isRecord } from "../../shared/values.js";
import { withoutForeignMarks } from "../../threads/client-marks.js";
import {
  commandWithMessages,
  fieldsOfCommand,
  givenMessages,
  isSend,
  messagesOfCommand,
  readUpdate,
} from "../../threads/commands.js";
import type { AgentEvent } from "../../threads/events.js";
import type { OwnState } from "../../threads/own-state.js";
import { inOtherBranch } from "../../threads/state.js";
import type { AgentPlan } from "../plan.js";
import type { Settings } from "../settings/settings.js";

/** What decides what clients can do. */
type ClientRules = Pick<AgentPlan, "settings" | "tools" | "ownState" | "callPolicy">;

/** Contract: reads the state that the input or update will change. Called only if that has a tool result. */
export type ReadThread = () => Promise<StateSnapshot>;

interface ClientThread {
  /** Whether the input comes from a parent graph. That is not a client, so its messages are not checked. */
  readonly isSubgraph: boolean;
  readonly readThread: ReadThread | undefined;
  /**
   * Contract: gives the messages that the run begins on. Undefined: no summary of the thread archives what it covers,
   * or the thread has no messages.
   */
  readonly readHistory: (() => Promise<readonly BaseMessage[]>) | undefined;
}

/** What the client sent. Nothing counts as sent by a subgraph's parent, which is not a client. */
export interface SentMessages {
  /** The messages in the admitted input. */
  readonly messages: readonly BaseMessage[];
  /** The latest user message, even if a summary has archived it and the input lacks it. */
  readonly userMessage: BaseMessage | undefined;
}

interface AdmittedInput {
  readonly input: unknown;
  readonly sent: SentMessages;
  /** Whether the run only stores its input, without asking the model. */
  readonly endsAfterInput: boolean;
  /** The empty value that the caller resumed with, if any. Then the question is repeated. */
  readonly emptyResponse: EmptyResponse | undefined;
  /** What was changed, for the client. */
  readonly events: readonly AgentEvent[];
}

/**
 * A run's input with sound messages. It leaves out results of calls that this graph answers. It also leaves out what a
 * summary has archived, because a client that sends its whole list each time would bring it back.
 *
 * @throws InvalidMessageError for a malformed message.
 * @throws InvalidCommandError for a `Command` that goes anywhere but to `model` or the end, or with a decision that no
 * checkpoint can store.
 * @throws InvalidStateError for an own key that does not match its schema.
 */
export async function admitInput(
  received: unknown,
  rules: ClientRules,
  { isSubgraph, readThread, readHistory }: ClientThread,
): Promise<AdmittedInput> {
  assertRunInput(received, isSubgraph);
  const given: BaseMessage[] = [];
  const events: AgentEvent[] = [];
  const readMessages = (value: unknown): unknown => {
    if (isSubgraph || value === undefined) return value;
    const messages = readClientMessages(value, rules.settings, ({ by }) =>
      events.push({ type: "role-changed", messageId: by.id }),
    );
    given.push(...messages);
    return messages;
  };
  const read = await readRunInput(received, rules, (fields) =>
    readFields(fields, rules.ownState, readMessages),
  );
  const demand = !isSubgraph && isCommand(read.input) ? storageDemand(read.input.resume) : undefined;
  if (demand !== undefined) throw new InvalidCommandError(`Expected \`resume\` to be ${demand}.`);
  const refused = await findRefused(given, rules, readThread);
  for (const { call } of refused.values())
    events.push({ type: "result-refused", tool: call.name, callId: call.id });
  const returned = await findArchived(given, readHistory);
  const left = given.filter((message) => !refused.has(message) && !returned.has(message));
  return {
    ...PLAIN,
    ...read,
    input: left.length < given.length ? withMessages(read.input, left) : read.input,
    sent: { messages: left, userMessage: given.findLast(({ type }) => type === "human") },
    events,
  };
}

async function findArchived(
  messages: readonly BaseMessage[],
  readHistory: ClientThread["readHistory"],
): Promise<ReadonlySet<BaseMessage>> {
  const sent = messages.filter(({ id, type }) => id !== undefined && type !== "remove");
  if (sent.length === 0 || readHistory === undefined) return new Set();
  // A client can take a summary out again.
  const removals = messages.filter(({ type }) => type === "remove");
  const history = reduceMessages(await readHistory(), removals).messages;
  return findReturned(
    sent.filter(({ id = "" }) => !hasMessage(history, id)),
    history,
  );
}

/**
 * State updates as a client may make them: checked messages and own keys, and no private channels.
 *
 * @returns The updates, and a check to run before they are made.
 * @throws InvalidMessageError for a malformed message.
 * @throws InvalidStateError for an own key that does not match its schema.
 * @throws InvalidCommandError for a `Send`, or a `Command` that goes anywhere but to `model` or the end.
 */
export async function admitUpdates<Update extends { values?: unknown }>(
  supersteps: readonly { readonly updates: Update[] }[],
  rules: ClientRules,
) {
  const given: BaseMessage[] = [];
  const readMessages = (value: unknown): readonly BaseMessage[] => {
    const messages = readClientMessages(value, rules.settings, (repair) => publishRepairs([repair]));
    given.push(...messages);
    return messages;
  };
  const read = (fields: Record<string, unknown>) => {
    assertSpelling(fields, rules.ownState);
    return readFields(fields, rules.ownState, readMessages);
  };
  const admit = async (update: Update) => ({ ...update, values: await mapFields(update.values, read) });
  const admitted = supersteps.map(async ({ updates }) => ({
    updates: await Promise.all(updates.map(admit)),
  }));
  const ready = await Promise.all(admitted);
  return {
    supersteps: ready,
    /** The same for updates that begin a branch on an earlier checkpoint. */
    inOtherBranch: ({ checkpoint: { channel_values } }: CheckpointTuple) => {
      const turn = inOtherBranch(channel_values["turn"]);
      const withTurn = async (update: Update) => ({
        ...update,
        values: await mapFields(update.values, async (fields) => ({ ...fields, turn })),
      });
      const changed = ready.map(async ({ updates }) => ({
        updates: await Promise.all(updates.map(withTurn)),
      }));
      return Promise.all(changed);
    },
    /** @throws InvalidMessageError for a call's result that the client may not give. It names the call. */
    assertOwnResults: async (readThread: ReadThread): Promise<void> => {
      for (const [message, { call }] of await findRefused(given, rules, readThread)) {
        const expectation = "messages without a result of a call that this graph answers";
        const hint = ` The call of \`${call.name}\` (${call.id}) waits for approval or for its tool: resume the run with a decision, or send a message.`;
        throw new InvalidMessageError("messages", message, expectation, hint);
      }
    },
  };
}

type Refused = ReadonlyMap<BaseMessage, UnansweredCall>;

async function findRefused(
  messages: readonly BaseMessage[],
  { settings, tools }: ClientRules,
  readThread: ReadThread | undefined,
): Promise<Refused> {
  if (readThread === undefined || !messages.some(isClaim)) return new Map();
  const { next, values } = await readThread();
  // Tasks of these nodes answer the calls. Without them, the thread waits for its caller.
  if (!next.some((node) => node === "tools" || node === "approve")) return new Map();
  const history: unknown = values.messages;
  // A tool or a middleware may have written messages after the batch's other results.
  const { all } = unansweredCalls(Array.isArray(history) ? history : []);
  return claimsOf(
    messages,
    // Those whose calls this graph runs, not the run's caller.
    all.filter(({ call }) => settings.autoInvoke && tools.has(call.name)),
  );
}

/** agent-chat-ui makes up results, which count as placeholders. */
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
 * Reads the fields of an input or an update. Only calls that the model made are run, so a client cannot send anything
 * to `tools` or `approve`, or write private channels.
 */

/** LangGraph treats `null` like no decision, and an empty object like an empty list of decisions by id. */
type EmptyResponse = "null" | "{}";
type ReadFields = (fields: Record<string, unknown>) => Promise<Record<string, unknown>>;
type RunInput = Partial<Omit<AdmittedInput, "sent" | "events">>;

const PLAIN = { endsAfterInput: false, emptyResponse: undefined } as const;

/**
 * Reads a run's input. A `Command` that resumes nothing becomes plain input: LangGraph would otherwise rerun an
 * abandoned run's tasks, even finished ones.
 */
async function readRunInput(
  given: unknown,
  { callPolicy, ownState }: ClientRules,
  read: ReadFields,
): Promise<RunInput> {
  if (!isCommand(given)) return { input: isRecord(given) ? await read(given) : given };
  const { resume, update } = given;
  const targets = targetsOf(given);
  const fields = update === undefined || update === null ? undefined : updateFields(update);
  if (fields !== undefined) assertSpelling(fields, ownState);
  // If several questions wait, a decision must name its question.
  if (callPolicy.asksHumans && isRecord(resume) && Object.keys(resume).length === 0)
    return { input: null, emptyResponse: "{}" };
  if (resume !== undefined && resume !== null) return { input: await mapFields(given, read) };
  if (targets.length === 0 && fields === undefined)
    return resume === null ? { input: null, emptyResponse: "null" } : { input: given };
  const input = fields === undefined ? { messages: [] } : await read(fields);
  return { input, endsAfterInput: !targets.includes("model") };
}

/** Changes the fields of an update, which can be an object, a `Command`, or a list of them. */
async function mapFields(values: unknown, change: ReadFields): Promise<unknown> {
  if (isCommand(values)) {
    targetsOf(values);
    const { graph: _graph, update, ...rest } = fieldsOfCommand(values);
    if (update === undefined || update === null) return new Command(rest);
    return new Command({ ...rest, update: await change(updateFields(update)) });
  }
  if (isSend(values)) throw wrongTarget();
  // A copied checkpoint's updates are pairs with their node's name.
  if (Array.isArray(values)) return Promise.all(values.map((value) => mapFields(value, change)));
  return isRecord(values) ? change(values) : values;
}

/**
 * The messages, and own keys as the user's schema makes them. An undefined own key counts as left out. Other keys are
 * dropped, because LangGraph would store them in the first checkpoint.
 */
async function readFields(
  fields: Record<string, unknown>,
  { keys, read }: OwnState,
  readMessages: (given: unknown) => unknown,
): Promise<Record<string, unknown>> {
  const admitted: Record<string, unknown> = {};
  if (Object.hasOwn(fields, "messages")) admitted["messages"] = readMessages(fields["messages"]);
  for (const key of keys) if (fields[key] !== undefined) admitted[key] = await read(key, fields[key]);
  return admitted;
}

/** @throws InvalidMessageError for an update whose `messages` are misspelt. */
function assertSpelling(fields: Record<string, unknown>, { keys }: OwnState): void {
  const isKnown = ["messages", ...keys].some((key) => Object.hasOwn(fields, key));
  if (!isKnown && hasNameLike("messages", fields))
    throw new InvalidMessageError("update", fields, AN_UPDATE, " Did you mean `messages`?");
}

/** @throws InvalidMessageError for a value that is neither an object nor a list of pairs. */
function updateFields(update: unknown): Record<string, unknown> {
  const fields = readUpdate(update);
  if (fields === undefined) throw new InvalidMessageError("update", update, AN_UPDATE);
  return fields;
}

const AN_UPDATE = "an object with `messages`";

/** @throws InvalidCommandError for a command that goes anywhere but to `model` or the end. */
function targetsOf({ goto }: Command): unknown[] {
  const targets: unknown[] = [goto ?? []].flat();
  if (targets.every((target) => target === "model" || target === END)) return targets;
  throw wrongTarget();
}

function wrongTarget(): InvalidCommandError {
  return new InvalidCommandError(
    "Expected `goto` to be `model` or the end of the graph. Other nodes cannot be reached, because only calls that the model makes are run.",
  );
}

/*
 * Reads the messages of a client.
 */

/** What clients' messages may be. */
export type MessageRules = Pick<Settings, "acceptSystemMessages">;

type RoleChanged = Extract<Repair, { readonly kind: "role-changed" }>;

/**
 * Reads what a client sends as `messages`: one message-like or several. This library's marks are removed, unless the
 * library returned the message itself in this process.
 *
 * @param tell Called with each system message that became the user's words.
 * @throws InvalidMessageError for a value that is not a message, or that has a malformed field. It names the path.
 */
function readClientMessages(
  given: unknown,
  rules: MessageRules,
  tell: (repair: RoleChanged) => void,
): BaseMessage[] {
  const isList = Array.isArray(given);
  return [given].flat().map((value: unknown, index) => {
    const { message, repair } = readClientMessage(value, isList ? `messages[${index}]` : "messages", rules);
    if (repair !== undefined) tell(repair);
    return message;
  });
}

export interface ClientRead {
  readonly message: BaseMessage;
  /** Set if a system message became the user's words. */
  readonly repair?: RoleChanged;
}

/**
 * Reads one message in the same way.
 *
 * @param place What errors call the value.
 * @throws InvalidMessageError like {@link readClientMessages}.
 */
export function readClientMessage(value: unknown, place: string, rules: MessageRules): ClientRead {
  const message = convertMessage(value);
  if (message === undefined) {
    // Even a value that cannot be read is refused by its place.
    const unreadable = new InvalidMessageError(place, value, "a message that can be read");
    throw safely(() => refusalOf(value, place), unreadable);
  }
  if (lacksContent(value, message)) throw refusalOf(value, place);
  const issue = issueOfShape(message);
  if (issue !== undefined) throw refusalAt(place, issue);
  if (isTrusted(value)) return { message };
  const unmarked = withoutForeignMarks(message);
  if (rules.acceptSystemMessages || !speaksAsSystem(unmarked)) return { message: unmarked };
  const { id, content, name } = unmarked;
  const by = new HumanMessage({ content, ...defined({ id, name }) });
  return { message: by, repair: createRepair({ kind: "role-changed", message: unmarked, by }) };
}

/** A value with a known role is a message with a wrong field. */
function refusalOf(value: unknown, place: string): InvalidMessageError {
  const fields = isRecord(value) ? value : {};
  const type = fields["role"] ?? fields["type"];
  const issue =
    type === "tool" || type === "ai"
      ? issueOfShape({ content: "", additional_kwargs: {}, response_metadata: {}, ...fields, type })
      : undefined;
  if (issue !== undefined) return refusalAt(place, issue);
  const { expectation, hint } = messageExpectation(value) ?? {};
  return new InvalidMessageError(place, value, expectation, hint);
}

function refusalAt(
  place: string,
  { path, value, expectation }: NonNullable<ReturnType<typeof issueOfShape>>,
): InvalidMessageError {
  return new InvalidMessageError(`${place}.${path}`, value, expectation);
}

export function speaksAsSystem(message: BaseMessage): boolean {
  if (message.type === "system") return true;
  return "role" in message && (message.role === "system" || message.role === "developer");
}

/*
 * A run's input: its check, and its messages, which agent middleware can read and change.
 */

/**
 * Refuses an object without `messages`, because LangGraph would end the run without asking the model. Missing input
 * passes: LangGraph itself reports it if the thread has nothing to continue.
 *
 * @param isSubgraph Whether the input is a parent graph's state, where `messages` can be missing.
 * @throws InvalidMessageError for an input that is not undefined, null, a `Command` or an object with `messages`.
 */
function assertRunInput(input: unknown, isSubgraph: boolean): void {
  if (input === undefined || input === null || isCommand(input)) return;
  const isObject = isRecord(input);
  if (isObject && (isSubgraph || input["messages"] !== undefined)) return;
  const expectation = "an object with `messages`, a `Command` or null";
  const hint = isObject && hasNameLike("messages", input) ? " Did you mean `messages`?" : "";
  throw new InvalidMessageError("input", input, expectation, hint);
}

/**
 * An input's messages, copied so that middleware does not change the caller's.
 *
 * @throws InvalidMessageError for a value that is not a message.
 */
export function messagesOfInput(input: unknown): BaseMessage[] {
  const given = givenMessages(input);
  return given === undefined ? [] : parseMessages(given).map(cloneMessage);
}

/**
 * A copy of the input with other messages. Input that continues a stopped run stays as it is if there are no messages.
 *
 * @throws InvalidMessageError if a middleware added a value that is not a message.
 */
export function withMessages(input: unknown, given: readonly unknown[]): unknown {
  const messages = parseMessages(given);
  if (isCommand(input)) {
    const isUntouched = messages.length === 0 && messagesOfCommand(input) === undefined;
    return isUntouched ? input : commandWithMessages(input, messages);
  }
  if (isRecord(input)) return { ...input, messages };
  return messages.length === 0 ? input : { messages };
}
