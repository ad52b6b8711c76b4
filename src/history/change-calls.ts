/** Copies of messages with other calls. */

import type { AIMessage, BaseMessage, MessageContent, ToolCall } from "@langchain/core/messages";
import { asText, parseJson, toJson } from "../shared/json.js";
import { addToList, isRecord, pickFields, recordsIn } from "../shared/values.js";
import {
  argumentsIn,
  type Call,
  callBlockOf,
  callsOf,
  idFieldOf,
  indexesById,
  isAIMessage,
  readCall,
  unlistedCalls,
} from "./call.js";
import { copyMessage } from "./message.js";
import { storableCopy } from "./storable.js";

/** Raw calls as the provider wrote them. All clients read `tool_calls` first, so these fields are not needed. */
const RAW_FIELDS = ["tool_calls", "function_call"] as const;
type RawField = (typeof RAW_FIELDS)[number];
/** What an entry of a call says in any form. All else is the provider's, or its host's, and stays with the call. */
const CALL_FIELDS: ReadonlySet<string> = new Set([
  ...["id", "call_id", "type", "name", "args", "input", "arguments", "function"],
  ...["index", "status", "error", "text", "cache_control"],
]);
/** Blocks that some client treats as a call. Their call is in `tool_calls`. */
const CALL_BLOCKS: ReadonlySet<unknown> = new Set([
  "tool_use",
  "function_call",
  "tool_call",
  "tool_call_chunk",
  "invalid_tool_call",
  "input_json_delta",
]);

/**
 * The message with every call in `tool_calls` and nowhere else, in call order, with an object as its arguments. A
 * message in this form is returned as it is. Readable arguments stay; others become empty.
 */
export function withListedCalls(message: AIMessage): AIMessage {
  const listed = recordsIn(message.tool_calls);
  const invalid = recordsIn(message.invalid_tool_calls);
  const { content } = message;
  const hasCallBlocks = recordsIn(content).some(isAnyCallBlock);
  const raw = rawFieldsOf(message);
  const given = givenFields(message);
  const isWhole = given === undefined && invalid.length === 0 && listed.every(isSound);
  if (!hasCallBlocks && raw.length === 0 && isWhole) return message;

  const calls = [...listed, ...invalid].map((entry) => soundCall({ ...given?.(entry), ...entry }));
  const additional_kwargs = { ...message.additional_kwargs };
  for (const name of raw) delete additional_kwargs[name];
  return copyMessage(message, {
    tool_calls: [...calls, ...unlistedCalls(message, calls).map(soundCall)],
    invalid_tool_calls: [],
    additional_kwargs,
    ...(Array.isArray(content) && { content: withoutCallBlocks(content) }),
  });
}

/**
 * The same for a message that gets a result which nobody returned. If all its calls are in `tool_calls`, it stays as it
 * is. Otherwise a client that does not send the call would send its result alone, and the provider would refuse it.
 */
export function withSentCalls<T extends BaseMessage>(message: T): T | AIMessage {
  if (!isAIMessage(message)) return message;
  return callsOf(message).length > recordsIn(message.tool_calls).length ? withListedCalls(message) : message;
}

type Fields = Readonly<Record<string, unknown>>;

/** A call in the old form stands nowhere else if the message has no other call. */
function rawFieldsOf(message: AIMessage): readonly RawField[] {
  const { additional_kwargs: fields } = message;
  const given = RAW_FIELDS.filter((name) => fields?.[name] != null);
  const isAlone = given[0] === "function_call" && callsOf(message).length === 0;
  return isAlone ? [] : given;
}

/** Some clients lose the calls beside an empty list. */
function withoutCallBlocks(content: Exclude<MessageContent, string>): MessageContent {
  const left = content.filter((block) => !isAnyCallBlock(block));
  return left.length === 0 ? "" : left;
}

function isAnyCallBlock(block: unknown): boolean {
  return isRecord(block) && CALL_BLOCKS.has(block["type"]);
}

function isSound({ id, name, args }: Fields): boolean {
  return typeof id === "string" && typeof name === "string" && isWritable(args);
}

function soundCall(entry: Fields): ToolCall & { id: string } {
  const { id, name } = readCall(entry);
  const written = argumentsIn(entry);
  const args = typeof written === "string" ? storableCopy(parseJson(written)) : written;
  return { ...ownFields(entry), type: "tool_call", id, name, args: isWritable(args) ? { ...args } : {} };
}

/** What is on a call beyond the call itself, such as its signature, its namespace and its caller. */
export function ownFields(entry: Fields): Fields {
  return pickFields(entry, (name, value) => !CALL_FIELDS.has(name) && value !== undefined && value !== null);
}

/**
 * What is on a call in another place than the list: on the raw call, the block or the stored item. Undefined if the
 * list has all.
 */
function givenFields(message: AIMessage): ((call: Fields) => Fields) | undefined {
  const { additional_kwargs, response_metadata, content } = message;
  const elsewhere = [
    ...recordsIn(additional_kwargs?.["tool_calls"]),
    ...recordsIn(content).filter(isAnyCallBlock),
    ...recordsIn(response_metadata?.["output"]).filter(({ call_id, name }) => call_id && name),
  ];
  if (elsewhere.length === 0) return undefined;
  const given = new Map<string, Fields[]>();
  for (const entry of elsewhere) {
    const fields = ownFields(entry);
    if (Object.keys(fields).length > 0) addToList(given, readCall(entry).id, fields);
  }
  const isMissing = recordsIn(message.tool_calls).some((call) => {
    const [fields = {}] = given.get(asText(call["id"])) ?? [];
    return Object.keys(fields).some((name) => !(name in call));
  });
  return isMissing ? (call) => given.get(asText(call["id"]))?.shift() ?? {} : undefined;
}

/** Whether these arguments can be sent: an object that can be written as JSON. */
export function isWritable(args: unknown): args is Fields {
  return isRecord(args) && toJson(args) !== undefined;
}

/** Where a message writes a call. */
type Place = "listed" | "invalid" | "content" | "raw";
/**
 * Contract: returns the new entry, or undefined to leave it out. `index` is that of its call in `callsOf`; undefined
 * for an entry that is not a call of the message.
 */
type Edit = (entry: Fields, index: number | undefined, place: Place) => Fields | undefined;

/** A copy of the message with its calls edited wherever they are written. */
function withEditedCalls(message: AIMessage, edit: Edit): AIMessage {
  const calls = callsOf(message);
  const { tool_calls = [], invalid_tool_calls = [], content, additional_kwargs } = message;
  const { tool_calls: raw, ...others } = additional_kwargs;
  const listed = numbering(calls);
  const keptRaw = editEntries(raw ?? [], numbering(calls), edit, "raw");
  return copyMessage(message, {
    tool_calls: editEntries(tool_calls, listed, edit, "listed"),
    invalid_tool_calls: editEntries(invalid_tool_calls, listed, edit, "invalid"),
    content: Array.isArray(content) ? editEntries(content, numbering(calls), edit, "content") : content,
    additional_kwargs: keptRaw.length === 0 ? others : { ...others, tool_calls: keptRaw },
  });
}

/** The n-th entry with an id in a place is the n-th call with that id. */
type Numbering = (entry: Fields) => number | undefined;

function numbering(calls: readonly Call[]): Numbering {
  const indexes = indexesById(calls);
  return (entry) => indexes.get(readCall(entry).id)?.pop();
}

function editEntries<Entry>(
  entries: readonly Entry[],
  indexOf: Numbering,
  edit: Edit,
  place: Place,
): Entry[] {
  return entries.flatMap((entry) => {
    if (!isRecord(entry) || (place === "content" && !isAnyCallBlock(entry))) return [entry];
    return (edit(entry, indexOf(entry), place) as Entry | undefined) ?? [];
  });
}

/**
 * A copy of the message with other arguments for some calls. They change wherever a call is written, because not all
 * clients send the list: some send the content, and some the provider's stored output. Signed data does not change.
 *
 * @param changes The new arguments, by their call's index in `callsOf`.
 */
export function withArguments(message: AIMessage, changes: ReadonlyMap<number, Fields>): AIMessage {
  const calls = callsOf(message);
  if (!calls.some((_, index) => changes.has(index))) return message;
  const edit: Edit = (entry, index, place) => {
    const args = changes.get(index ?? -1);
    return args === undefined ? entry : withWritten(entry, args, place);
  };
  const edited = withEditedCalls(message, edit);
  const output: unknown = message.response_metadata?.["output"];
  if (!Array.isArray(output)) return edited;
  const items = editEntries(output, numbering(calls), edit, "content");
  return copyMessage(edited, { response_metadata: { ...message.response_metadata, output: items } });
}

/** The form of the entry says where its arguments are. Some are written as JSON. */
function withWritten(entry: Fields, args: Fields, place: Place): Fields {
  const { type, function: body } = entry;
  if (type === "tool_use") return { ...entry, input: { ...args } };
  if (type === "function_call") return { ...entry, arguments: JSON.stringify(args) };
  if (type === "tool_call" || place === "listed") return { ...entry, args: { ...args } };
  return isRecord(body) ? { ...entry, function: { ...body, arguments: JSON.stringify(args) } } : entry;
}

/**
 * Blocks of the model's own reasoning. They are not content for a reader, and can be bound to their message's calls.
 */
const REASONING_BLOCKS: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "reasoning"]);
/** What providers have signed or encrypted. They want it back unchanged, and refuse it in other places. */
const SIGNATURE_FIELDS = ["signature", "thoughtSignature", "encrypted_content"];

/**
 * A copy without the calls that `isDropped` selects by their index in `callsOf(message)`. If no call is left, signed
 * reasoning also goes, because providers refuse it without its calls.
 */
export function withoutCalls(message: AIMessage, isDropped: (index: number) => boolean): AIMessage {
  const left = withEditedCalls(message, (entry, index, place) => {
    // A raw entry that is not a call of the message would become one if `tool_calls` were empty.
    const isKept = index === undefined ? place !== "raw" : !isDropped(index);
    return isKept ? entry : undefined;
  });
  const dropsReasoning =
    callsOf(message).every((_, index) => isDropped(index)) && hasSignedReasoning(message);
  if (!dropsReasoning) return left;
  const { content } = left;
  const { reasoning: _, ...additional_kwargs } = left.additional_kwargs;
  return copyMessage(left, {
    additional_kwargs,
    ...(Array.isArray(content) && { content: content.filter(({ type }) => !REASONING_BLOCKS.has(type)) }),
  });
}

export function hasSignedReasoning(message: AIMessage | { readonly content: unknown }): boolean {
  if ("additional_kwargs" in message && message.additional_kwargs["reasoning"] !== undefined) return true;
  const { content } = message;
  return (
    Array.isArray(content) &&
    content.some((block) => SIGNATURE_FIELDS.some((field) => block?.[field] !== undefined))
  );
}

/** Whether a message says nothing: it has no text or picture, only white space, reasoning and calls. */
export function isBlankMessage({ content }: AIMessage): boolean {
  if (typeof content === "string") return content.trim() === "";
  return content.every((block) => {
    if (block.type === "text") return typeof block["text"] !== "string" || block["text"].trim() === "";
    return REASONING_BLOCKS.has(block.type) || callBlockOf(block) !== undefined;
  });
}

/**
 * Removes the provider's own copy of the calls if they differ from the earlier message's. OpenAI's client keeps this
 * copy in `additional_kwargs`, and it would still have the old calls.
 */
export function withoutStaleCalls(message: AIMessage, earlier: AIMessage): AIMessage {
  const { tool_calls: raw, ...additional_kwargs } = message.additional_kwargs;
  if (raw === undefined || listed(message) === listed(earlier)) return message;
  return copyMessage(message, { additional_kwargs });
}

function listed({ tool_calls, invalid_tool_calls }: AIMessage): string | undefined {
  return toJson([tool_calls, invalid_tool_calls]);
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Gives a new response's calls distinct ids: if several calls share an id, the first keeps it. Their results can arrive
 * at different times (one when its tool is ready, one after approval), and only the id says which call a result
 * answers. Other messages may repeat an id, because a result goes to the nearest call.
 *
 * @param taken Ids that no call of the response may have. @default none
 */
export function withDistinctCallIds(message: AIMessage, taken: ReadonlySet<string> = NONE): AIMessage {
  const calls = callsOf(message);
  const ids = calls.map(({ id }) => id);
  const given = new Set(ids.filter((id) => id !== ""));
  const isDistinct = given.size === ids.filter((id) => id !== "").length;
  if (isDistinct && ![...given].some((id) => taken.has(id))) return message;
  const unused = unusedIds((id) => given.has(id) || taken.has(id));
  const met = new Set(taken);
  const distinct = ids.map((id) => {
    const own = id !== "" && met.has(id) ? unused(id) : id;
    met.add(id);
    return own;
  });
  return withEditedCalls(message, (entry, index) => {
    const id = index === undefined ? undefined : distinct[index];
    return id === undefined ? entry : { ...entry, [idFieldOf(entry)]: id };
  });
}

/** Ids like `call_2`. Each number is tried once per id, however many calls have that id. */
function unusedIds(isUsed: (id: string) => boolean): (id: string) => string {
  const last = new Map<string, number>();
  return (id) => {
    let number = (last.get(id) ?? 1) + 1;
    while (isUsed(`${id}_${number}`)) number += 1;
    last.set(id, number);
    return `${id}_${number}`;
  };
}
