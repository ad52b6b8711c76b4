/** The update that writes a whole history anew. */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { copyMessage } from "./copy-message.js";
import { type Group, groupMessages, placeOfCall } from "./group.js";
import { REMOVE_ALL_MESSAGES } from "./remove-all-messages.js";
import { createPlaceholder, isPlaceholder, PLACEHOLDER_KEY } from "./result.js";

/**
 * An update after which the history is the given one, whatever stood there before.
 *
 *     reduceMessages(anything, rewriteHistory(history)).messages = history
 *
 * @param history In the form that the reducer keeps, without summaries: they would archive what they name once more.
 */
export function rewriteHistory(history: readonly BaseMessage[]): BaseMessage[] {
  const { groups } = groupMessages(history);
  return [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...groups.flatMap(writesOfGroup)];
}

/**
 * The reducer gives a result to the first call of its id that waits for one. Where that is not the call which it
 * answered, as an earlier one of the same id has no result or only a placeholder, each call gets a placeholder first,
 * as these replace nothing; then each result takes the place of the one with its message id; the surplus goes.
 */
function writesOfGroup(group: Group): BaseMessage[] {
  const { head, calls, results } = group;
  const given = results.filter((result) => result !== undefined);
  const answers = given.filter((result) => !isPlaceholder(result));
  const hasRepeatedIds = new Set(calls.map(({ id }) => id)).size < calls.length;
  if (!hasRepeatedIds || answers.length === calls.length) return [head, ...given];

  const surplus: RemoveMessage[] = [];
  const placeholders = calls.map((call, index) => {
    const result = results[index];
    if (result !== undefined) return isPlaceholder(result) ? result : standInFor(result);
    const placeholder = createPlaceholder(call, "unrecorded", placeOfCall(group, index));
    surplus.push(new RemoveMessage({ id: placeholder.id ?? "" }));
    return placeholder;
  });
  return [head, ...placeholders, ...answers, ...surplus];
}

/** A placeholder with the result's message id. */
function standInFor(result: ToolMessage): ToolMessage {
  return copyMessage(result, { content: "", additional_kwargs: { [PLACEHOLDER_KEY]: "unrecorded" } });
}
