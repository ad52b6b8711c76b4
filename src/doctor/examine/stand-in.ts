import type { BaseMessage } from "@langchain/core/messages";
import { contentText } from "../../history/messages/content-text.js";
import { isPlaceholder, isResult } from "../../history/messages/result.js";

/** What the middleware of deepagents writes for each call without a result, whatever became of the tool. */
const WRITTEN_BY_DEEPAGENTS =
  /^Tool call .* was cancelled .* another message came in before it could be completed\.$/s;

/** Whether no tool returned this result. If the real one is found, it takes its place. */
export function isStandIn(message: BaseMessage): boolean {
  if (!isResult(message)) return false;
  return isPlaceholder(message) || WRITTEN_BY_DEEPAGENTS.test(contentText(message));
}
