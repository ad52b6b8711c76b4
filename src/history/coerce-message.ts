/** The door of the history: what comes in becomes a stored message, or is no message. */

import {
  AIMessage,
  type BaseMessage,
  BaseMessageChunk,
  type BaseMessageLike,
  ChatMessage,
  coerceMessageLikeToMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";

type MessageClass = new (fields: never) => BaseMessage;

/** What a chunk is stored as: chunks merge when they are concatenated, stored messages must not. */
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
 * The message that a message-like stands for (an instance, a string, a `[role, content]` tuple, an object with
 * `role` or `type`, LangChain's serialized form); undefined if it stands for none. The value is not changed; an
 * instance that is no chunk is returned as it is.
 */
export function coerceMessage(value: unknown): BaseMessage | undefined {
  try {
    const message = coerceMessageLikeToMessage(ownedCopy(value) as BaseMessageLike);
    return BaseMessageChunk.isInstance(message) ? fromChunk(message) : message;
  } catch {
    return undefined;
  }
}

/** Message constructors write defaults into the fields that they are given, and serialized fields are the caller's. */
function ownedCopy(value: unknown): unknown {
  const isSerialized = typeof value === "object" && value !== null && "lc" in value && "kwargs" in value;
  return isSerialized ? { ...value, kwargs: { ...Object(value.kwargs) } } : value;
}

function fromChunk(chunk: BaseMessageChunk): BaseMessage {
  const StoredClass = STORED_CLASSES.get(chunk.type);
  if (StoredClass === undefined) return chunk;
  const fields = Object.entries(chunk)
    .filter(([name]) => !CHUNK_ONLY_FIELDS.has(name) && !name.startsWith("lc_"))
    // The constructor completes the list of content blocks in place.
    .map(([name, field]) => [name, Array.isArray(field) ? [...field] : field]);
  return new StoredClass(Object.fromEntries(fields) as never);
}
