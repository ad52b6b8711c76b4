import type { AIMessage } from "@langchain/core/messages";
import { isRecord } from "../../shared/is-record.js";
import { callsOf, indexesById } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";

type Fields = Readonly<Record<string, unknown>>;

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
  /** In each place, the n-th entry with an id is the n-th call with that id. */
  const editIn = <Entry>(
    entries: readonly Entry[],
    edit: (entry: Fields, args: Fields) => Fields,
  ): Entry[] => {
    const indexes = indexesById(calls);
    return entries.map((entry) => {
      const id = isRecord(entry) ? idOf(entry) : undefined;
      const index = typeof id === "string" ? indexes.get(id)?.pop() : undefined;
      const args = index === undefined ? undefined : changes.get(index);
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

/** A block of the Responses API has the id of its item as well as the id of its call. */
function idOf(entry: Fields): unknown {
  return entry["call_id"] ?? entry["id"];
}
