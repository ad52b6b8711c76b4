/** Finds the messages that a run of a LangChain agent had shown, and that its thread does not have. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { REMOVE_ALL_MESSAGES } from "../history/messages/remove-all-messages.js";
import { isResult } from "../history/messages/result.js";
import type { Leftovers } from "../nodes/recovery/leftovers.js";
import { recoverMessages } from "../nodes/recovery/recover-messages.js";

/** The update that puts them back in their places. */
export function lostMessages(
  history: readonly BaseMessage[],
  leftovers: readonly Leftovers[],
  config: LangGraphRunnableConfig,
): BaseMessage[] {
  const present = new Set(history.map(({ id }) => id));
  // The input of the run cannot be read here, so what it removed is not known. Where the last message is gone, or is
  // one of another branch, nothing is put back.
  const own = leftovers.filter((leftover) => present.has(leftover.history.at(-1)?.id));
  return recoverMessages(
    history,
    own.map((leftover) => ({ ...leftover, written: withoutRewrites(leftover.written) })),
    config,
  );
}

/**
 * A middleware such as `summarizationMiddleware` replaces the whole history. If its step was not stored, the history is
 * still whole, and the middleware writes it again.
 */
function withoutRewrites(written: readonly BaseMessage[]): readonly BaseMessage[] {
  const isRewrite = (message: BaseMessage): boolean =>
    RemoveMessage.isInstance(message) && message.id === REMOVE_ALL_MESSAGES;
  return written.some(isRewrite) ? written.filter(isResult) : written;
}
