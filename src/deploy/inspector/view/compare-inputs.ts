/** The difference of a model input to the one before it. */

import type { BaseMessage } from "@langchain/core/messages";
import { MARKS } from "../../../history/marks.js";
import { toJson } from "../../../shared/json.js";

/** - `new`: it was not sent before. - `changed`: a message with its id was sent in another form. */
export type Novelty = "same" | "new" | "changed";

export interface InputDifference {
  /** One entry for each message of the input. */
  readonly novelty: readonly Novelty[];
  /** Positions in the input before, of messages that are not sent any more. */
  readonly gone: readonly number[];
  /** How many messages at the beginning are the same in both. */
  readonly prefix: number;
  /** Whether the input begins with the whole input before. Then a provider's prompt cache still fits. */
  readonly isPrefixKept: boolean;
}

export function compareInputs(
  input: readonly BaseMessage[],
  before: readonly BaseMessage[],
): InputDifference {
  const keys = input.map(sentForm);
  const keysBefore = before.map(sentForm);
  let prefix = 0;
  while (prefix < keysBefore.length && keys[prefix] === keysBefore[prefix]) prefix += 1;
  const known = new Set(keysBefore);
  const knownIds = new Set(before.flatMap(({ id }) => id ?? []));
  const kept = new Set(keys);
  const keptIds = new Set(input.flatMap(({ id }) => id ?? []));
  return {
    novelty: input.map(({ id }, index) => {
      if (index < prefix || known.has(keys[index] ?? "")) return "same";
      return id !== undefined && knownIds.has(id) ? "changed" : "new";
    }),
    gone: before.flatMap(({ id }, index) =>
      kept.has(keysBefore[index] ?? "") || (id !== undefined && keptIds.has(id)) ? [] : [index],
    ),
    prefix,
    isPrefixKept: prefix === before.length,
  };
}

/** What a client sends of a message, as a text to compare. Our marks and the message's own id are not sent. */
function sentForm(message: BaseMessage): string {
  const { type, content, name, additional_kwargs = {} } = message;
  const { tool_calls, invalid_tool_calls, tool_call_id, status } = message as BaseMessage &
    Readonly<Record<string, unknown>>;
  const marks = new Set<string>(Object.values(MARKS));
  const fields = Object.entries(additional_kwargs).filter(([field]) => !marks.has(field));
  return (
    toJson([type, content, name, tool_calls, invalid_tool_calls, tool_call_id, status, fields]) ??
    String(content)
  );
}
