import type { AIMessage } from "@langchain/core/messages";
import { callBlockOf, callsOf } from "../messages/call.js";
import { copyMessage } from "../messages/copy-message.js";

/**
 * Gives the calls of a new response distinct ids: of several calls with one id, the first keeps it. Their
 * results can arrive at different times (one when its tool is ready, one when a human has approved it), and
 * only the id says which call a result answers. Ids of other messages can stay equal: a result goes to the
 * nearest call.
 */
export function withDistinctCallIds(message: AIMessage): AIMessage {
  const ids = callsOf(message).map(({ id }) => id);
  const given = new Set(ids.filter((id) => id !== ""));
  if (given.size === ids.filter((id) => id !== "").length) return message;
  const names = new Map<string, string[]>();
  for (const id of ids) {
    const own = names.get(id);
    if (own === undefined) names.set(id, [id]);
    else own.push(unusedId(id, own.length + 1, given));
  }
  const { tool_calls = [], invalid_tool_calls = [], content } = message;
  const rename = renaming(names);
  const renameBlock = renaming(names);
  const renameEntry = <Entry extends { id?: string }>(entry: Entry): Entry =>
    entry.id === undefined ? entry : { ...entry, id: rename(entry.id) };
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
  });
}

function unusedId(id: string, number: number, given: Set<string>): string {
  let name = `${id}_${number}`;
  while (given.has(name)) name += "_";
  given.add(name);
  return name;
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
