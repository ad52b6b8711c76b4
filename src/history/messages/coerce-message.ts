/** Turns incoming values into stored messages, and recognises values that are not messages. */

import {
  AIMessage,
  BaseMessage,
  type BaseMessageChunk,
  type BaseMessageLike,
  ChatMessage,
  coerceMessageLikeToMessage,
  FunctionMessage,
  HumanMessage,
  mapStoredMessageToChatMessage,
  type StoredMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { callsOf } from "./call.js";
import { isChunk } from "./is-chunk.js";

type MessageClass = new (fields: never) => BaseMessage;

/** The class that a chunk is stored as. Chunks merge when they are concatenated; stored messages must not. */
const STORED_CLASSES: ReadonlyMap<string, MessageClass> = new Map<string, MessageClass>([
  ["ai", AIMessage],
  ["human", HumanMessage],
  ["system", SystemMessage],
  ["tool", ToolMessage],
  ["function", FunctionMessage],
  ["generic", ChatMessage],
]);

const CHUNK_ONLY_FIELDS = new Set(["type", "tool_call_chunks"]);

/**
 * Converts a message-like to a message: an instance, a string, a `[role, content]` tuple, an object with
 * `role` or `type`, or LangChain's serialized form. Returns undefined for any other value. The value is not
 * changed. An instance that is not a chunk is returned as it is.
 */
export function coerceMessage(value: unknown): BaseMessage | undefined {
  try {
    const message = isStoredForm(value)
      ? mapStoredMessageToChatMessage({ ...value, data: { ...value.data } })
      : coerceMessageLikeToMessage(ownedCopy(value) as BaseMessageLike);
    if (!BaseMessage.isInstance(message)) return undefined;
    assertReadable(message);
    return isChunk(message) ? fromChunk(message) : message;
  } catch {
    return undefined;
  }
}

/** Whether a value is a message instance. */
export function isMessage(value: unknown): value is BaseMessage {
  try {
    if (!BaseMessage.isInstance(value)) return false;
    assertReadable(value);
    return true;
  } catch {
    return false;
  }
}

/** Throws if reading a field of the message throws, so that no later code meets such a message. */
function assertReadable(message: BaseMessage): void {
  for (const field of Object.keys(message)) Reflect.get(message, field);
  callsOf(message);
}

/** LangChain's storage form. LangChain's own coercion would read it as a message without content. */
function isStoredForm(value: unknown): value is StoredMessage {
  return (
    typeof value === "object" &&
    value !== null &&
    !BaseMessage.isInstance(value) &&
    "type" in value &&
    "data" in value &&
    typeof value.data === "object" &&
    value.data !== null &&
    "content" in value.data
  );
}

/** Message constructors mutate their argument, so plain objects are copied first. */
function ownedCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value) || BaseMessage.isInstance(value)) {
    return value;
  }
  return "lc" in value && "kwargs" in value
    ? { ...value, kwargs: copyFields(Object(value.kwargs)) }
    : copyFields(value);
}

function copyFields(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, Array.isArray(field) ? [...field] : field]),
  );
}

function fromChunk(chunk: BaseMessageChunk): BaseMessage {
  const StoredClass = STORED_CLASSES.get(chunk.type);
  if (StoredClass === undefined) return chunk;
  const fields = Object.entries(chunk).filter(
    ([name]) => !CHUNK_ONLY_FIELDS.has(name) && !name.startsWith("lc_"),
  );
  return new StoredClass(copyFields(Object.fromEntries(fields)) as never);
}
