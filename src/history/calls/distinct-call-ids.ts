import type { AIMessage } from "@langchain/core/messages";
import { callBlockOf, callsOf, readCall } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";

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
  const ids = callsOf(message).map(({ id }) => id);
  const given = new Set(ids.filter((id) => id !== ""));
  const isDistinct = given.size === ids.filter((id) => id !== "").length;
  if (isDistinct && ![...given].some((id) => taken.has(id))) return message;
  const unused = unusedIds((id) => given.has(id) || taken.has(id));
  const names = new Map<string, string[]>();
  for (const id of ids) {
    const own = names.get(id) ?? [];
    names.set(id, own);
    own.push(own.length === 0 && !taken.has(id) ? id : unused(id));
  }
  const { tool_calls = [], invalid_tool_calls = [], content, additional_kwargs } = message;
  const rename = renaming(names);
  const renameBlock = renaming(names);
  const renameRaw = renaming(names);
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

/** The n-th occurrence of an id belongs to the n-th call with that id. */
function renaming(names: ReadonlyMap<string, readonly string[]>) {
  const met = new Map<string, number>();
  return (id: string): string => {
    if (id === "") return id;
    const count = met.get(id) ?? 0;
    met.set(id, count + 1);
    return names.get(id)?.[count] ?? id;
  };
}
