/** Makes the update that replaces a whole history. */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { type Group, groupMessages, placeOfCall } from "../group.js";
import { copyMessage, REMOVE_ALL_MESSAGES } from "../message.js";
import { createPlaceholder, isPlaceholder, NO_OUTPUT, placeholderMarks } from "../result.js";

/**
 * Makes an update after which the history is the given one, whatever it was before.
 *
 * reduceMessages(anything, rewriteHistory(history)).messages = history
 *
 * @param history In the reducer's form, and without summaries, which would archive the messages that they name again.
 */
export function rewriteHistory(history: readonly BaseMessage[]): BaseMessage[] {
  const { groups } = groupMessages(history);
  return [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...groups.flatMap(writesOfGroup)];
}

/**
 * The reducer gives a result to the first call with its id that waits for one. That can be the wrong call if an earlier
 * one has no result or only a placeholder. So each call first gets a placeholder, because placeholders replace nothing.
 * Then each result replaces the placeholder with its message id. Surplus placeholders go last.
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

/** A placeholder with the result's message id. Its content differs, because equal content keeps its marks. */
function standInFor(result: ToolMessage): ToolMessage {
  const content = result.content === "" ? NO_OUTPUT : "";
  return copyMessage(result, { content, additional_kwargs: placeholderMarks("unrecorded") });
}
