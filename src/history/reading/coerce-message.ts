/** Turns incoming values into stored messages, and recognises values that are not messages. */

import {
  AIMessage,
  BaseMessage,
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
import { isRecord } from "../../shared/is-record.js";
import { callsOf } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";
import { isChunk } from "../messages/is-chunk.js";
import { isReadBack } from "../messages/read-back.js";
import { isSmallAndSound, mendMessage, mendOther } from "./message-shape.js";

type MessageClass = new (fields: never) => BaseMessage;

/**
 * The class that a chunk, or a message of another class, is stored as. Chunks merge when they are concatenated; stored
 * messages must not.
 */
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
 * changed. A sound instance of a stored class is returned as it is; see {@link mendMessage} for others.
 */
export function coerceMessage(value: unknown): BaseMessage | undefined {
  const message = convertMessage(value);
  return message && mendMessage(message);
}

/** The same, with the fields as they were given. */
export function convertMessage(value: unknown): BaseMessage | undefined {
  try {
    const message = isStoredForm(value)
      ? mapStoredMessageToChatMessage({ ...value, data: { ...value.data } })
      : convertLike(value);
    if (!isMarked(message)) return undefined;
    assertReadable(message);
    return isChunk(message) || !isReadBack(message) ? ofStoredClass(message) : message;
  } catch {
    return undefined;
  }
}

/** Whether a value is a sound message instance. */
export function isMessage(value: unknown): value is BaseMessage {
  try {
    // With this mark and a sound shape, it is a message for LangChain too. LangChain's check costs more.
    if (isMarked(value) && isSmallAndSound(value)) return true;
    if (!BaseMessage.isInstance(value)) return false;
    assertReadable(value);
    return mendOther(value) === value;
  } catch {
    return false;
  }
}

/** LangChain throws for the complete message if it cannot read one of its calls. */
function convertLike(value: unknown): BaseMessage {
  const like = ownedCopy(value) as BaseMessageLike;
  try {
    return coerceMessageLikeToMessage(like);
  } catch (error) {
    const calls: unknown = Reflect.get(Object(like), "tool_calls");
    if (!Array.isArray(calls)) throw error;
    const message = coerceMessageLikeToMessage({ ...Object(like), tool_calls: [] });
    return copyMessage<BaseMessage>(message, { tool_calls: calls.map(convertCall) } as object);
  }
}

function convertCall(call: unknown): unknown {
  try {
    const like = { role: "assistant", content: "", tool_calls: [call] } as BaseMessageLike;
    return Reflect.get(coerceMessageLikeToMessage(like), "tool_calls")[0];
  } catch {
    // Its arguments are not JSON, or it is not an object.
    const { id, function: raw } = Object(call);
    return isRecord(raw) ? { id, name: raw["name"], args: raw["arguments"], type: "tool_call" } : call;
  }
}

const MARK = Symbol.for("langchain.message");

/** LangChain's own check also wants content that is a text or a list. */
function isMarked(value: unknown): value is BaseMessage {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[MARK] === true;
}

/** Throws if reading a field of the message throws, so that no later code meets such a message. */
function assertReadable(message: BaseMessage): void {
  for (const field of Object.keys(message)) Reflect.get(message, field);
  callsOf(message);
}

/** LangChain's storage form. LangChain's own coercion would read it as a message without content. */
function isStoredForm(value: unknown): value is StoredMessage {
  if (!isRecord(value) || BaseMessage.isInstance(value)) return false;
  return "type" in value && isRecord(value["data"]) && "content" in value["data"];
}

/** Message constructors mutate their argument, so plain objects are copied first. */
function ownedCopy(value: unknown): unknown {
  if (!isRecord(value) || isMarked(value)) return value;
  return "lc" in value && "kwargs" in value
    ? { ...value, kwargs: copyFields(Object(value["kwargs"])) }
    : copyFields(value);
}

function copyFields(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, Array.isArray(field) ? [...field] : field]),
  );
}

function ofStoredClass(message: BaseMessage): BaseMessage {
  const StoredClass = STORED_CLASSES.get(message.type);
  if (StoredClass === undefined) return message;
  const fields = Object.entries(message).filter(
    ([name]) => !CHUNK_ONLY_FIELDS.has(name) && !name.startsWith("lc_"),
  );
  return new StoredClass(copyFields(Object.fromEntries(fields)) as never);
}
