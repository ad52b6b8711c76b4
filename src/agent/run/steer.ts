/** Messages that clients send during a run. */

import { randomUUID } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { InvalidMessageError, InvalidSettingError } from "../../errors.js";
import { MARKS } from "../../history/marks.js";
import { copyMessage, toPlain } from "../../history/message.js";
import { errorMessage } from "../../shared/is-error.js";
import { emitEvent } from "../../threads/events.js";
import {
  deleteItems,
  type InboxItem,
  type InboxStore,
  putIntoInbox,
  readInbox,
} from "../../threads/inbox.js";
import type { AgentState, AgentUpdate } from "../../threads/state.js";
import { missingStore, threadIdOf } from "../../threads/stores.js";
import type { Settings } from "../settings/settings.js";
import { runOf } from "./handle.js";
import { type ClientRead, type MessageRules, readClientMessage, speaksAsSystem } from "./input.js";

export type InboxOptions = MessageRules & Pick<Settings, "steering">;

interface Inbox {
  readonly store: InboxStore;
  readonly threadId: string;
}

/** The inbox of a task's thread. Undefined if the run takes no messages. */
export function inboxOf({ steering }: InboxOptions, config: LangGraphRunnableConfig): Inbox | undefined {
  const { store } = config;
  const threadId = threadIdOf(config);
  const isClosed = !steering || runOf(config).inputs.isInTool;
  return isClosed || store === undefined || threadId === undefined ? undefined : { store, threadId };
}

/**
 * Takes all messages from an inbox. Undefined if there are none.
 *
 * Each message enters the history once, although a process can die at any time:
 * - Its id is derived from the item, so the history recognises an item that is read again.
 * - The channel `steered` has the ids of taken messages whose items may still be in the store. So a removed or archived
 *   message does not come back.
 * - An item is deleted once a checkpoint of this run or an earlier one has its message. The end of a run deletes the
 *   rest.
 */
export async function takeSteered(
  { store, threadId }: Inbox,
  rules: MessageRules,
  state: AgentState,
  config: LangGraphRunnableConfig,
): Promise<{ messages: BaseMessage[]; steered: string[] } | undefined> {
  const { inputs, record } = runOf(config);
  const items = await readSafely(() => readInbox(store, threadId), [], config);
  if (items.length === 0) return undefined;

  const { steered: known = [] } = state;
  const stored = storedIds(state);
  const inCheckpoint = [inputs.checkpoints.saved?.["steered"] ?? []].flat();
  // What this run did not write came from a checkpoint.
  const ofOthers = known.filter((id) => !record.steered.has(id));
  const saved = new Set<unknown>([...inCheckpoint, ...ofOthers]);
  const isTaken = ({ messageId }: InboxItem) => stored.has(messageId);
  const isSaved = ({ messageId }: InboxItem) => saved.has(messageId);

  const [taken, fresh] = [items.filter(isTaken), items.filter((item) => !isTaken(item))];
  const admitted = fresh.map((item) => admitItem(item, rules, config));
  const messages = admitted.filter((message) => message !== undefined);
  const refused = fresh.filter((_, index) => admitted[index] === undefined);
  const left = new Set(await deleteItems(store, [...taken.filter(isSaved), ...refused]));
  const kept = taken.filter((item) => left.has(item) || !isSaved(item));
  const steered = [...kept.map(({ messageId }) => messageId), ...messages.map(({ id = "" }) => id)];
  for (const id of steered) record.steered.add(id);
  return messages.length === 0 ? undefined : { messages, steered };
}

function storedIds({ messages, steered = [] }: AgentState): ReadonlySet<string | undefined> {
  return new Set([...steered, ...messages.map(({ id }) => id)]);
}

/** Whether the model step will take messages that the thread does not have yet. */
export async function hasSteered(
  options: InboxOptions,
  state: AgentState,
  config: LangGraphRunnableConfig,
): Promise<boolean> {
  const inbox = inboxOf(options, config);
  if (inbox === undefined) return false;
  const items = await readSafely(() => readInbox(inbox.store, inbox.threadId), [], config);
  const stored = storedIds(state);
  return items.some(({ messageId }) => !stored.has(messageId));
}

/** If the inbox cannot be read, the run continues without it. */
async function readSafely<Found>(
  read: () => Promise<Found>,
  otherwise: Found,
  config: LangGraphRunnableConfig,
): Promise<Found> {
  try {
    return await read();
  } catch (error) {
    emitEvent(config, { type: "inbox-failed", reason: errorMessage(error) });
    return otherwise;
  }
}

/** An item's message. Undefined if it is refused: nobody waits for an error, so an event tells the reason. */
function admitItem(
  { key, value, messageId }: InboxItem,
  rules: MessageRules,
  config: LangGraphRunnableConfig,
): BaseMessage | undefined {
  try {
    const { message, repair } = readSteered(value, rules);
    const additional_kwargs = { ...message.additional_kwargs, [MARKS.steered]: key };
    emitEvent(config, { type: "message-steered", messageId, key });
    if (repair !== undefined) emitEvent(config, { type: "role-changed", messageId });
    return copyMessage(message, { id: messageId, additional_kwargs });
  } catch (error) {
    emitEvent(config, { type: "steering-refused", key, reason: errorMessage(error) });
    return undefined;
  }
}

/**
 * The part of an update that notes which recovered messages came from the inbox. Their items may still be there, and
 * the channel that said so is not recovered.
 */
export function noteRecovered(
  recovered: readonly BaseMessage[],
  { steered = [] }: AgentState,
  config: RunnableConfig,
): Pick<AgentUpdate, "steered"> {
  const ids = recovered.flatMap(({ id, additional_kwargs }) =>
    id !== undefined && additional_kwargs[MARKS.steered] !== undefined ? [id] : [],
  );
  for (const id of ids) runOf(config).record.steered.add(id);
  return ids.length === 0 ? {} : { steered: [...steered, ...ids] };
}

/**
 * Reads a message like a run's input, but only from the user or the system. A result or a response in the middle of a
 * run would not be what a tool or the model said.
 */
function readSteered(value: unknown, rules: MessageRules): ClientRead {
  const read = readClientMessage(value, "message", rules);
  const { message } = read;
  if (message.type === "human" || speaksAsSystem(message)) return read;
  throw new InvalidMessageError("message", value, "a message of the user or a system message");
}

/** How many messages this process has put. It orders those of one millisecond. */
let count = 0;

/**
 * Puts a message into a thread's inbox. Returns its item's key.
 *
 * @throws InvalidSettingError without a store, with `steering: false`, or for a value that is not a thread id.
 * @throws InvalidMessageError for a value that is not a user or system message.
 */
export async function steerThread(
  store: InboxStore | undefined,
  threadId: string,
  message: unknown,
  options: InboxOptions,
): Promise<string> {
  if (!options.steering)
    throw InvalidSettingError.expected("steering", "true, because `steer` needs the thread's inbox", false);
  if (store === undefined) throw missingStore("`steer` puts messages into it");
  if (typeof threadId !== "string" || threadId === "")
    throw InvalidSettingError.expected("threadId", "the id of a thread", threadId);
  const { id: _, ...value } = toPlain(readSteered(message, options).message);
  count += 1;
  const key = `${Date.now()}-${String(count).padStart(9, "0")}-${randomUUID()}`;
  await putIntoInbox(store, threadId, key, value);
  return key;
}
