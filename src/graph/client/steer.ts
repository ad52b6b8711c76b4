/** Messages for a run that goes on: how they are read from the thread's inbox, and put into it. */

import { randomUUID } from "node:crypto";
import { InvalidMessageError, InvalidSettingError } from "../../errors.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { type InboxStore, putIntoInbox } from "../../nodes/inbox/inbox.js";
import type { SteeredMessage } from "../../nodes/inbox/take-messages.js";
import { missingStore } from "../../nodes/run/missing-service.js";
import { type ClientRead, type MessageRules, readClientMessage, speaksAsSystem } from "./client-messages.js";

/**
 * Makes the reader of steered messages. It checks a message like the input of a run. In addition, only the user and the
 * system can speak: a result or a response in the middle of a run would not be what the model or a tool said.
 */
export function createSteeredReader(rules: MessageRules) {
  return function readSteered(value: unknown): SteeredMessage {
    const { message, repair } = readSteeredBy(value, rules);
    return { message, isRoleChanged: repair !== undefined };
  };
}

function readSteeredBy(value: unknown, rules: MessageRules): ClientRead {
  const read = readClientMessage(value, "message", rules);
  const { message } = read;
  if (message.type === "human" || speaksAsSystem(message)) return read;
  throw new InvalidMessageError("message", value, "a message of the user or a system message");
}

export interface Steering {
  readonly store: InboxStore | undefined;
  readonly threadId: string;
  readonly message: unknown;
  readonly isOn: boolean;
  readonly rules: MessageRules;
}

/** How many messages this process has put. It keeps the order of those of one millisecond. */
let count = 0;

/**
 * Puts a message into the inbox of a thread. Returns the key of its item.
 *
 * @throws InvalidSettingError without a store, with `steering: false`, or for a value that is not the id of a thread.
 * @throws InvalidMessageError for a value that is not a message of the user or the system.
 */
export async function steerThread({ store, threadId, message, isOn, rules }: Steering): Promise<string> {
  if (!isOn)
    throw InvalidSettingError.expected("steering", "true, because `steer` needs the thread's inbox", false);
  if (store === undefined) throw missingStore("`steer` puts messages into it");
  if (typeof threadId !== "string" || threadId === "")
    throw InvalidSettingError.expected("threadId", "the id of a thread", threadId);
  const { id: _, ...value } = toPlain(readSteeredBy(message, rules).message);
  count += 1;
  const key = `${Date.now()}-${String(count).padStart(9, "0")}-${randomUUID()}`;
  await putIntoInbox(store, threadId, key, value);
  return key;
}
