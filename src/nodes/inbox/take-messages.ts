/** Takes messages out of the thread's inbox, and makes them part of the history. */

import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { copyMessage } from "../../history/messages/copy-message.js";
import { MARKS } from "../../history/messages/marks.js";
import { isError } from "../../shared/is-error.js";
import { takeLateResults } from "../recovery/late-results.js";
import { emitEvent } from "../run/agent-event.js";
import type { AgentState } from "../run/agent-state.js";
import { runInputsOf, runRecordOf } from "../run/run-handle.js";
import { stepsLeft } from "../run/superstep-budget.js";
import { deleteItems, type InboxItem, type InboxStore, readInbox } from "./inbox.js";
import { isOpenToMessages } from "./is-open-to-messages.js";

/** A message of a client, as the graph accepts it. */
export interface SteeredMessage {
  readonly message: BaseMessage;
  /** Whether it was a system message, and became the user's words. */
  readonly isRoleChanged: boolean;
}

export interface InboxOptions {
  /** Whether the inbox is read at all. */
  readonly steering: boolean;
  /** Contract: checks a value like a message of a run's input, and throws for one that is refused. */
  readonly readSteered: (value: unknown) => SteeredMessage;
}

/** The update of the state that takes messages. */
export interface TakenMessages {
  readonly messages: BaseMessage[];
  readonly steered?: string[];
  /** Further updates of own keys, in order. */
  readonly values?: readonly Readonly<Record<string, unknown>>[];
}

export type TakeMessages = (
  state: AgentState,
  config: LangGraphRunnableConfig,
) => Promise<TakenMessages | undefined>;

/**
 * Makes the function that takes all messages of the inbox. It returns undefined if there are none, or if the history
 * cannot take a message now.
 *
 * Each message enters the history once, although a process can die at any time:
 * - Its id is derived from the item, so an item that is read again is recognised in the history.
 * - The channel `steered` has the ids of taken messages whose items may still be in the store. So a message that was
 *   removed or archived does not come back.
 * - An item is deleted when the message is saved: in a checkpoint of this run, or of an earlier one. What is left at the
 *   end of a run is deleted then.
 */
export function createTakeMessages({ steering, readSteered }: InboxOptions): TakeMessages {
  return async function takeMessages(state, config) {
    if (stepsLeft(config) < 1 || !isOpenToMessages(state, config)) return undefined;
    const late = await takeLate(state, config);
    if (late !== undefined) return late;
    const store: InboxStore | undefined = config.store;
    const threadId: unknown = config.configurable?.["thread_id"];
    if (!steering || store === undefined || typeof threadId !== "string") return undefined;
    if (runInputsOf(config)?.isInTool === true) return undefined;
    const items = await readSafely(store, threadId, config);
    if (items.length === 0) return undefined;

    const { isTaken, isSaved } = describeTaken(state, config);
    const taken = items.filter(isTaken);
    const messages: BaseMessage[] = [];
    const refused: InboxItem[] = [];
    for (const item of items) {
      if (isTaken(item)) continue;
      const message = admit(item, readSteered, config);
      if (message === undefined) refused.push(item);
      else messages.push(message);
    }
    const done = taken.filter(isSaved);
    const left = new Set(await deleteItems(store, [...done, ...refused]));
    const kept = taken.filter((item) => left.has(item) || !isSaved(item));
    const steered = [...kept.map(({ messageId }) => messageId), ...messages.map(({ id = "" }) => id)];
    for (const id of steered) runRecordOf(config)?.steered.add(id);
    return messages.length === 0 ? undefined : { messages, steered };
  };
}

/** The late results of the thread, once for each run. */
async function takeLate(
  { messages }: AgentState,
  config: LangGraphRunnableConfig,
): Promise<TakenMessages | undefined> {
  const late = runInputsOf(config)?.late;
  const record = runRecordOf(config);
  if (late === undefined || record === undefined || record.late !== undefined) return undefined;
  record.late = [];
  try {
    const found = await takeLateResults(messages, late, config);
    record.late = found.taken;
    return found.messages.length === 0 ? undefined : { messages: [...found.messages], values: found.values };
  } catch (error) {
    emitEvent(config, { type: "inbox-failed", reason: textOf(error) });
    return undefined;
  }
}

/** The run goes on without the inbox if it cannot be read. */
async function readSafely(store: InboxStore, threadId: string, config: LangGraphRunnableConfig) {
  try {
    return await readInbox(store, threadId);
  } catch (error) {
    emitEvent(config, { type: "inbox-failed", reason: textOf(error) });
    return [];
  }
}

function describeTaken({ messages, steered = [] }: AgentState, config: LangGraphRunnableConfig) {
  const known = new Set(steered);
  const stored = new Set(messages.map(({ id }) => id));
  const ofThisRun = new Set(runRecordOf(config)?.steered);
  const saved: unknown = runInputsOf(config)?.checkpoints.saved?.["steered"];
  const inCheckpoint = new Set(Array.isArray(saved) ? saved : []);
  return {
    isTaken: ({ messageId }: InboxItem) => known.has(messageId) || stored.has(messageId),
    /** What this run did not write came from a checkpoint. */
    isSaved: ({ messageId }: InboxItem) =>
      inCheckpoint.has(messageId) || (known.has(messageId) && !ofThisRun.has(messageId)),
  };
}

/** The message of an item. Undefined if it is refused: nobody waits for an error, so an event tells the reason. */
function admit(
  { key, value, messageId }: InboxItem,
  readSteered: InboxOptions["readSteered"],
  config: LangGraphRunnableConfig,
): BaseMessage | undefined {
  try {
    const { message, isRoleChanged } = readSteered(value);
    const additional_kwargs = { ...message.additional_kwargs, [MARKS.steered]: key };
    emitEvent(config, { type: "message-steered", messageId, key });
    if (isRoleChanged) emitEvent(config, { type: "role-changed", messageId });
    return copyMessage(message, { id: messageId, additional_kwargs });
  } catch (error) {
    emitEvent(config, { type: "steering-refused", key, reason: textOf(error) });
    return undefined;
  }
}

function textOf(error: unknown): string {
  return isError(error) ? error.message : String(error);
}
