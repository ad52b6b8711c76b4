/** Finds the lists of messages of a state. A graph can name its channel of messages as it likes. */

import { MESSAGES } from "../threads/langgraph/swap-channel.js";
import { isListOfMessages } from "./examine.js";
import type { StoredThread } from "./thread-store.js";

/**
 * The list of a thread: `messages`, or the longest other one if that has none. A list of messages is known by its values.
 *
 * @param messages What the channel `messages` has; undefined if it has no list.
 * @param values The user's other channels.
 */
export function listsIn(
  messages: readonly unknown[] | undefined,
  values: Readonly<Record<string, unknown>>,
): { readonly messages: readonly unknown[] | undefined } & Pick<
  StoredThread,
  "channel" | "otherLists" | "values" | "otherChannels"
> {
  const lists = Object.entries(values)
    .flatMap(([channel, list]) => (isListOfMessages(list) ? [{ channel, messages: list }] : []))
    .sort((one, other) => other.messages.length - one.messages.length);
  const isElsewhere = (messages ?? []).length === 0;
  const [longest] = isElsewhere ? lists : [];
  return {
    messages: longest?.messages ?? messages,
    channel: longest?.channel ?? MESSAGES,
    otherLists: lists.filter((list) => list !== longest),
    values,
    otherChannels: Object.keys(values),
  };
}
