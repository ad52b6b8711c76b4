/** Reads a stored list as messages, and remembers what each of them was stored as. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { copyMessage } from "../../history/messages/copy-message.js";
import { convertMessage } from "../../history/reading/coerce-message.js";
import { issueOfShape, type ShapeIssue } from "../../history/reading/message-issue.js";
import { mendMessage } from "../../history/reading/message-shape.js";
import { DEPTH_DEMAND, isSerializedForm, storageDemand } from "../../history/reading/storable.js";
import { isRecord } from "../../shared/is-record.js";

/** A message of a stored list. */
export interface ReadMessage {
  readonly message: BaseMessage;
  /** The value that the list has. A repair writes it back as it is, unless the message had to be mended. */
  readonly value: unknown;
  readonly index: number;
  /** What is wrong with its shape; undefined for a sound message. Then `message` is the mended one. */
  readonly issue: ShapeIssue | undefined;
}

export interface ReadList {
  readonly messages: readonly ReadMessage[];
  /** Values that are not messages, and removals, which are not to be stored. */
  readonly foreign: readonly { readonly value: unknown; readonly index: number }[];
  readonly byMessage: ReadonlyMap<BaseMessage, ReadMessage>;
}

export function readList(values: readonly unknown[]): ReadList {
  const messages: ReadMessage[] = [];
  const foreign: { readonly value: unknown; readonly index: number }[] = [];
  const byMessage = new Map<BaseMessage, ReadMessage>();
  for (const [index, value] of values.entries()) {
    const converted = convertMessage(isSerializedForm(value) ? withoutUndefined(value) : value);
    if (converted === undefined || RemoveMessage.isInstance(converted)) {
      foreign.push({ value, index });
      continue;
    }
    const issue = issueOf(converted);
    const mended = issue === undefined ? converted : mendMessage(converted);
    // A list can have one instance twice. Each of them is a message of its own here.
    const message = byMessage.has(mended) ? copyMessage<BaseMessage>(mended, {}) : mended;
    const read = { message, value, index, issue };
    messages.push(read);
    byMessage.set(message, read);
  }
  return { messages, foreign, byMessage };
}

/**
 * LangGraph stores undefined as an object. It is still there in a message that LangChain refuses to read, and in the JSON
 * of each message.
 */
export function withoutUndefined(stored: unknown): unknown {
  if (Array.isArray(stored)) return stored.map((part) => (isUndefined(part) ? null : withoutUndefined(part)));
  if (!isRecord(stored)) return stored;
  const fields = Object.entries(stored).filter(([, part]) => !isUndefined(part));
  return Object.fromEntries(fields.map(([name, part]) => [name, withoutUndefined(part)]));
}

function isUndefined(value: unknown): boolean {
  return isRecord(value) && value["lc"] === 2 && value["type"] === "undefined";
}

/** What a store has given can be stored, unless it is nested so deep that nobody can read it back. */
function issueOf(message: BaseMessage): ShapeIssue | undefined {
  const issue = issueOfShape(message);
  const isOfStorage = issue !== undefined && storageDemand(issue.value) === issue.expectation;
  return isOfStorage && issue.expectation !== DEPTH_DEMAND ? undefined : issue;
}

/** What the list stores for a message: what it was, if it did not have to be mended. */
export function storedValueOf(message: BaseMessage, { byMessage }: ReadList): unknown {
  const read = byMessage.get(message);
  return read === undefined || read.issue !== undefined ? message : read.value;
}
