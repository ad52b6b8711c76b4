/** Copies of messages with other calls. */

import type { AIMessage, BaseMessage, ToolCall } from "@langchain/core/messages";
import { parseJson, toJson } from "../shared/json.js";
import { isRecord, recordsIn } from "../shared/values.js";
import {
  argumentsIn,
  callBlockOf,
  callsOf,
  indexesById,
  isAIMessage,
  readCall,
  unlistedCalls,
} from "./call.js";
import { copyMessage } from "./message.js";
import { storableCopy } from "./storable.js";

/** Raw calls as the provider wrote them. All clients read `tool_calls` first, so these fields are not needed. */
const RAW_FIELDS = ["tool_calls", "function_call"] as const;
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
 * The message with every call in `tool_calls`, in call order, with an object as its arguments, and nowhere else. The
 * same message if it is so already. What can be read of the arguments stays; otherwise they are empty.
 */
export function withListedCalls(message: AIMessage): AIMessage {
  const listed = recordsIn(message.tool_calls);
  const invalid = recordsIn(message.invalid_tool_calls);
  const { content } = message;
  const hasCallBlocks = recordsIn(content).some(isAnyCallBlock);
  const hasRaw = hasRawFields(message);
  if (!hasCallBlocks && !hasRaw && invalid.length === 0 && listed.every(isSound)) return message;

  const calls = [...listed, ...invalid].map(soundCall);
  const additional_kwargs = { ...message.additional_kwargs };
  for (const name of RAW_FIELDS) delete additional_kwargs[name];
  return copyMessage(message, {
    tool_calls: [...calls, ...unlistedCalls(message, calls).map(soundCall)],
    invalid_tool_calls: [],
    additional_kwargs,
    ...(Array.isArray(content) && { content: content.filter((block) => !isAnyCallBlock(block)) }),
  });
}

/**
 * The same for a message that gets a result which nobody returned. If all its calls are in `tool_calls`, it stays as it
 * is. Otherwise a client that does not send the call would send the result alone, and the provider would refuse it.
 */
export function withSentCalls<T extends BaseMessage>(message: T): T | AIMessage {
  if (!isAIMessage(message)) return message;
  return callsOf(message).length > recordsIn(message.tool_calls).length ? withListedCalls(message) : message;
}

type Fields = Readonly<Record<string, unknown>>;

function hasRawFields({ additional_kwargs }: AIMessage): boolean {
  for (const name of RAW_FIELDS) if (additional_kwargs?.[name] !== undefined) return true;
  return false;
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
  const { thoughtSignature } = entry;
  return {
    type: "tool_call",
    id,
    name,
    args: isWritable(args) ? { ...args } : {},
    // `ChatGoogle` reads the signature of a call here.
    ...(typeof thoughtSignature === "string" && { thoughtSignature }),
  };
}

/** Whether these arguments can be sent: an object that can be written as JSON. */
export function isWritable(args: unknown): args is Fields {
  return isRecord(args) && toJson(args) !== undefined;
}

/**
 * A copy of the message in which some calls have other arguments. They are changed everywhere a call is written, because
 * clients do not always send the list: some send the content, and the client of OpenAI's Responses API sends the stored
 * output. Data that a provider signed is not changed.
 *
 * @param changes The new arguments, by the index of their call in `callsOf`.
 */
export function withArguments(message: AIMessage, changes: ReadonlyMap<number, Fields>): AIMessage {
  const calls = callsOf(message);
  if (!calls.some((_, index) => changes.has(index))) return message;
  const editIn = <Entry>(
    entries: readonly Entry[],
    edit: (entry: Fields, args: Fields) => Fields,
  ): Entry[] => {
    const indexOf = numbering(calls);
    return entries.map((entry) => {
      const args = changes.get(indexOf(isRecord(entry) ? idOf(entry) : undefined) ?? -1);
      return args === undefined ? entry : (edit(entry as Fields, args) as Entry);
    });
  };
  const { content, additional_kwargs, response_metadata } = message;
  const raw = additional_kwargs?.tool_calls;
  const output: unknown = response_metadata?.["output"];
  return copyMessage(message, {
    tool_calls: editIn(message.tool_calls ?? [], (entry, args) => ({ ...entry, args: { ...args } })),
    content: Array.isArray(content) ? editIn(content, editBlock) : content,
    ...(Array.isArray(raw) && {
      additional_kwargs: { ...additional_kwargs, tool_calls: editIn(raw, editRaw) },
    }),
    ...(Array.isArray(output) && {
      response_metadata: { ...response_metadata, output: editIn(output, editBlock) },
    }),
  });
}

/** The field that holds the arguments depends on the block's type. OpenAI writes them as JSON. */
function editBlock(block: Fields, args: Fields): Fields {
  switch (block["type"]) {
    case "tool_use":
      return { ...block, input: { ...args } };
    case "function_call":
      return { ...block, arguments: JSON.stringify(args) };
    case "tool_call":
      return { ...block, args: { ...args } };
    default:
      return block;
  }
}

function editRaw(entry: Fields, args: Fields): Fields {
  const { function: named } = entry;
  return isRecord(named) ? { ...entry, function: { ...named, arguments: JSON.stringify(args) } } : entry;
}

/**
 * Numbers the entries of one place in which a message writes its calls: the n-th entry with an id is the n-th call with
 * that id. Undefined for any other entry.
 */
function numbering(calls: readonly { readonly id: string }[]): (id: unknown) => number | undefined {
  const indexes = indexesById(calls);
  return (id) => (typeof id === "string" ? indexes.get(id)?.pop() : undefined);
}

/** A block of the Responses API has the id of its item as well as the id of its call. */
function idOf(entry: Fields): unknown {
  return entry["call_id"] ?? entry["id"];
}

/*
 * Removes calls from an AI message, everywhere they are written.
 */

/**
 * Blocks of the model's own reasoning. They are not content for a reader, and can be bound to the calls in
 * their message.
 */
const REASONING_BLOCKS: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "reasoning"]);
const SIGNATURE_FIELDS = ["signature", "thoughtSignature", "encrypted_content"];

/**
 * A copy without the calls that `isDropped` selects by their index in `callsOf(message)`. If no call is left,
 * signed reasoning is removed too: providers refuse it without the calls that it led to.
 */
export function withoutCalls(message: AIMessage, isDropped: (index: number) => boolean): AIMessage {
  const calls = callsOf(message);
  /** Decides about the entries of one place. Each belongs to the next call with its id. */
  const createFilter = (keepsOthers = true) => {
    const indexOf = numbering(calls);
    return ({ id }: { readonly id?: string | undefined }): boolean => {
      const index = indexOf(id ?? "");
      return index === undefined ? keepsOthers : !isDropped(index);
    };
  };
  const isListed = createFilter();
  const isInContent = createFilter();
  const dropsReasoning = calls.every((_, index) => isDropped(index)) && hasSignedReasoning(message);
  const content = Array.isArray(message.content)
    ? message.content.filter((block) => {
        if (dropsReasoning && REASONING_BLOCKS.has(block.type)) return false;
        const call = callBlockOf(block);
        return call === undefined || isInContent(call);
      })
    : message.content;

  const { tool_calls: rawCalls, reasoning, ...rest } = message.additional_kwargs;
  // An entry that is no call of the message would be one if `tool_calls` became empty.
  const keptRaw = (rawCalls ?? []).filter(createFilter(false));
  const additional_kwargs = {
    ...rest,
    ...(keptRaw.length > 0 && { tool_calls: keptRaw }),
    ...(reasoning !== undefined && !dropsReasoning && { reasoning }),
  };
  return copyMessage(message, {
    tool_calls: (message.tool_calls ?? []).filter(isListed),
    invalid_tool_calls: (message.invalid_tool_calls ?? []).filter(isListed),
    content,
    additional_kwargs,
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

/** Whether a message says nothing: it has no text and no picture, only white space, reasoning and calls. */
export function isBlankMessage({ content }: AIMessage): boolean {
  if (typeof content === "string") return content.trim() === "";
  return content.every((block) => {
    if (block.type === "text") return typeof block["text"] !== "string" || block["text"].trim() === "";
    return REASONING_BLOCKS.has(block.type) || callBlockOf(block) !== undefined;
  });
}

/**
 * Removes the provider's own copy of the calls if the calls differ from those of the earlier message.
 * OpenAI's client keeps this copy in `additional_kwargs`, and it would still have the old calls.
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
 * Gives the calls of a new response distinct ids: of several calls with one id, the first keeps it. Their
 * results can arrive at different times (one when its tool is ready, one when a human has approved it), and
 * only the id says which call a result answers. For this library, ids of other messages can stay equal: a result
 * goes to the nearest call.
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
  const renaming = () => {
    const indexOf = numbering(calls);
    return (id: string): string => distinct[indexOf(id) ?? -1] ?? id;
  };
  const { tool_calls = [], invalid_tool_calls = [], content, additional_kwargs } = message;
  const rename = renaming();
  const renameBlock = renaming();
  const renameRaw = renaming();
  const renameEntry = <Entry extends { id?: string }>(entry: Entry): Entry =>
    entry.id === undefined ? entry : { ...entry, id: rename(entry.id) };
  const raw = additional_kwargs.tool_calls;
  return copyMessage(message, {
    tool_calls: tool_calls.map(renameEntry),
    invalid_tool_calls: invalid_tool_calls.map(renameEntry),
    content: Array.isArray(content)
      ? content.map((block) => {
          const id = callBlockOf(block)?.id;
          if (id === undefined) return block;
          return { ...block, ["call_id" in block ? "call_id" : "id"]: renameBlock(id) };
        })
      : content,
    ...(Array.isArray(raw) && {
      additional_kwargs: {
        ...additional_kwargs,
        tool_calls: raw.map((entry) => ({ ...entry, id: renameRaw(readCall({ ...entry }).id) })),
      },
    }),
  });
}

/** Ids like `call_2`. The numbers of an id are tried once, however many calls have it. */
function unusedIds(isUsed: (id: string) => boolean): (id: string) => string {
  const last = new Map<string, number>();
  return (id) => {
    let number = (last.get(id) ?? 1) + 1;
    while (isUsed(`${id}_${number}`)) number += 1;
    last.set(id, number);
    return `${id}_${number}`;
  };
}
