/** Reads messages in every form in which they are stored or sent. */

import {
  AIMessage,
  BaseMessage,
  type BaseMessageLike,
  ChatMessage,
  coerceMessageLikeToMessage,
  FunctionMessage,
  HumanMessage,
  mapStoredMessageToChatMessage,
  RemoveMessage,
  type StoredMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { InvalidMessageError } from "../errors.js";
import { safely } from "../shared/json.js";
import { didYouMean } from "../shared/text.js";
import { addToList, isRecord } from "../shared/values.js";
import { callsOf } from "./call.js";
import { copyMessage, isChunk, REMOVE_ALL_MESSAGES } from "./message.js";
import { issueOfShape, repairMessage, withoutNulls } from "./message-shape.js";
import { createRepair, type NoteRepair } from "./repair.js";
import { isReadBack } from "./storable.js";

/**
 * Reads any list as messages. A removal applies to the messages before it. A value that is not a message is reported.
 */
export function readMessages(values: readonly unknown[], report: NoteRepair): BaseMessage[] {
  return readEach(values, report).filter((message) => message !== undefined);
}

/** The message that each value becomes; undefined if the value is not a message, or is removed. */
export function readEach(values: readonly unknown[], report: NoteRepair): (BaseMessage | undefined)[] {
  const messages: (BaseMessage | undefined)[] = [];
  const places = new Map<string | undefined, number[]>();
  let removed = 0;
  for (const [place, value] of [...values].entries()) {
    const message = readMessage(value, report);
    if (message === undefined || !RemoveMessage.isInstance(message)) {
      messages.push(message);
      if (message !== undefined) addToList(places, message.id, place);
      continue;
    }
    messages.push(undefined);
    if (message.id === REMOVE_ALL_MESSAGES) removed = place;
    for (const earlier of places.get(message.id) ?? []) messages[earlier] = undefined;
    places.delete(message.id);
  }
  return messages.fill(undefined, 0, removed);
}

/** Whether all values are messages, and none a removal. Chunks count, because the list is not stored. */
export function isMessageList(values: readonly unknown[]): values is BaseMessage[] {
  return [...values].every((value) => isMessage(value) && value.type !== "remove");
}

/** A value's message in a sound form. A value that is not a message gives undefined, and is reported. */
export function readMessage(value: unknown, report: NoteRepair): BaseMessage | undefined {
  const message = convertMessage(value);
  // A value of the message can throw when it is read, such as a proxy.
  const by = message && safely(() => repairMessage(message));
  if (message === undefined || by === undefined) {
    report(createRepair({ kind: "value-refused", value }));
    return undefined;
  }
  if (by !== message) report(createRepair({ kind: "message-repaired", message, by }));
  return by;
}

/** One value or several, as a list; undefined and null count as none. */
export function listOf(value: unknown): readonly unknown[] {
  // A proxy can throw even here.
  if (safely(() => Array.isArray(value), false)) return value as readonly unknown[];
  return value === undefined || value === null ? [] : [value];
}

/**
 * The list with every message in a sound form; the same array if they all are.
 *
 * @throws InvalidMessageError for a value that is not a list of messages.
 */
export function soundMessages(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  assertList(messages);
  if ([...messages].every(isMessage)) return messages;
  return [...messages].map((value, index) => {
    const message = isMessage(value) ? value : coerceMessage(value);
    if (message === undefined) throw new InvalidMessageError(`messages[${index}]`, value);
    return message;
  });
}

/** @throws InvalidMessageError for a value that is not a list. */
export function assertList(messages: unknown): void {
  if (!Array.isArray(messages)) throw new InvalidMessageError("messages", messages, "a list of messages");
}

/*
 * Turns incoming values into stored messages, and recognises values that are not messages.
 */

type MessageClass = new (fields: never) => BaseMessage;

/**
 * The class that a chunk, or a message of another class, is stored as. Concatenated chunks merge; stored messages must
 * not.
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
 * Converts a message-like to a message: an instance, a string, a `[role, content]` tuple, an object with `role` or
 * `type`, or LangChain's serialized form. Returns undefined for any other value. The value does not change. A sound
 * instance of a stored class is returned as it is; see {@link repairMessage} for others.
 */
export function coerceMessage(value: unknown): BaseMessage | undefined {
  return readMessage(value, () => {});
}

export function convertMessage(value: unknown): BaseMessage | undefined {
  try {
    const message = isStoredForm(value)
      ? mapStoredMessageToChatMessage({ ...value, data: copyFields(value.data) as StoredMessage["data"] })
      : convertLike(value);
    if (!isMarked(message)) return undefined;
    assertReadable(message);
    return withoutNulls(isChunk(message) || !isReadBack(message) ? ofStoredClass(message) : message);
  } catch {
    return undefined;
  }
}

/** Whether a value is a sound message instance. */
export function isMessage(value: unknown): value is BaseMessage {
  try {
    return isMarked(value) && typeof value.type === "string" && issueOfShape(value) === undefined;
  } catch {
    return false;
  }
}

/** LangChain throws for the whole message if it cannot read one of its calls. */
function convertLike(value: unknown): BaseMessage {
  const like = withEmptyArguments(ownedCopy(value)) as BaseMessageLike;
  try {
    return coerceMessageLikeToMessage(like);
  } catch (error) {
    const calls: unknown = Reflect.get(Object(like), "tool_calls");
    if (!Array.isArray(calls)) throw error;
    const message = coerceMessageLikeToMessage({ ...Object(like), tool_calls: [] });
    return copyMessage<BaseMessage>(message, { tool_calls: calls.map(convertCall) } as object);
  }
}

/** A chat completion in which calls without arguments have empty ones. LangChain reads only calls with JSON there. */
function withEmptyArguments(like: unknown): unknown {
  if (!isRecord(like) || isMarked(like) || !Array.isArray(like["tool_calls"])) return like;
  const tool_calls = like["tool_calls"].map((call: unknown) => {
    const body = isRecord(call) ? call["function"] : undefined;
    if (!isRecord(body) || String(body["arguments"] ?? "").trim() !== "") return call;
    return { ...Object(call), type: "function", function: { ...body, arguments: "{}" } };
  });
  return { ...like, tool_calls };
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

/** LangChain's own check also requires content that is a text or a list. */
function isMarked(value: unknown): value is BaseMessage {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[MARK] === true;
}

/** Throws if reading one of the message's fields throws, so that no later code meets such a message. */
function assertReadable(message: BaseMessage): void {
  for (const field of Object.keys(message)) Reflect.get(message, field);
  callsOf(message);
}

/** LangChain's storage form. LangChain's own coercion would read it as a message without content. */
function isStoredForm(value: unknown): value is StoredMessage {
  if (!isRecord(value) || BaseMessage.isInstance(value)) return false;
  return "type" in value && isRecord(value["data"]) && "content" in value["data"];
}

/**
 * Message constructors change their argument, so plain objects are copied first. Null stands for a field that is left
 * out, and not all constructors know that.
 */
function ownedCopy(value: unknown): unknown {
  if (!isRecord(value) || isMarked(value)) return value;
  return "lc" in value && "kwargs" in value
    ? { ...value, kwargs: copyFields(Object(value["kwargs"])) }
    : copyFields(value);
}

function copyFields(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name, field]) => field !== null || name === "content")
      .map(([name, field]) => [name, Array.isArray(field) ? [...field] : field]),
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

const ROLES = ["user", "assistant", "system", "developer", "tool", "human", "ai"] as const;
/** Other accepted roles. Error texts do not list them, because nobody writes them by hand. */
const OTHER_ROLES: ReadonlySet<string> = new Set(["remove", "function", "generic", "constructor"]);

interface Expectation {
  /** Completes the sentence "Expected … to be …". */
  readonly expectation: string;
  /** What was probably meant; empty if that is unknown. */
  readonly hint: string;
}

/**
 * Whether a new message of a user has nothing in `content`, such as one of the AI SDK, whose text is in `parts`.
 * LangChain reads it as an empty message, so the model would be asked without the user's words. An empty text is a
 * content too.
 *
 * @param message What the value was converted to.
 */
export function lacksContent(value: unknown, message: BaseMessage): boolean {
  return message.type === "human" && !hasContent(value) && (message.content ?? "").length === 0;
}

/** Whether a value says what its content is, be it nothing. An instance always does. */
function hasContent(value: unknown): boolean {
  if (Array.isArray(value)) return value[1] !== undefined;
  const isForm = isRecord(value) && !isMarked(value) && !("lc" in value) && !isStoredForm(value);
  return !isForm || value["content"] !== undefined;
}

/** What an invalid value should have been. The expectation names the roles if the role is wrong. */
export function messageExpectation(value: unknown): Expectation | undefined {
  const role = roleOf(value);
  if (role === "user" || role === "human")
    return { expectation: "a message of the user with `content`", hint: hintAtContent(Object(value)) };
  if (role === undefined || OTHER_ROLES.has(role) || ROLES.some((known) => known === role)) return undefined;
  return {
    expectation: `a message whose \`role\` or \`type\` is one of ${ROLES.join(", ")}`,
    hint: didYouMean(role, ROLES),
  };
}

function hintAtContent(fields: object): string {
  if ("content" in fields) return "";
  if ("parts" in fields)
    return " Messages of the AI SDK have `parts`: convert them with its `convertToModelMessages`.";
  const isText = (name: string) =>
    typeof Reflect.get(fields, name) === "string" && !["role", "type", "id"].includes(name);
  const [name, ...others] = Object.keys(fields).filter(isText);
  return name === undefined || others.length > 0 ? "" : ` Did you mean \`content\` in place of \`${name}\`?`;
}

/** A message can be an object, or a tuple of role and content. */
function roleOf(value: unknown): string | undefined {
  const tuple: readonly unknown[] = Array.isArray(value) ? value : [];
  const role = isRecord(value) ? (value["role"] ?? value["type"]) : tuple[0];
  return typeof role === "string" ? role : undefined;
}
