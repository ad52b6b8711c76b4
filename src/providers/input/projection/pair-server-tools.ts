/**
 * Drops calls of tools that the provider runs if their result is missing. A result without its call becomes text.
 *
 * Both are blocks of one message, and Anthropic refuses one without the other. A result is missing if the response ended
 * before it.
 */

import { isAIMessage } from "../../../history/messages/call.js";
import { withTextFor } from "../../../history/messages/content-text.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { serverCallId, serverResultId } from "../../../history/messages/server-tools.js";
import type { Step, StepReason } from "./step.js";

export const pairServerTools: Step = () => (message) => {
  const { content } = message;
  if (!isAIMessage(message) || !Array.isArray(content)) return message;
  const called = new Set(content.flatMap((block) => serverCallId(block) ?? []));
  const answered = new Set(content.flatMap((block) => serverResultId(block) ?? []));
  if (called.size === 0 && answered.size === 0) return message;
  const paired = withTextFor(content, (block) => {
    const call = serverCallId(block);
    const answer = serverResultId(block);
    return (call === undefined || answered.has(call)) && (answer === undefined || called.has(answer));
  });
  if (paired.length === content.length && paired.every((block, index) => block === content[index]))
    return message;
  return copyMessage(message, { content: paired.length === 0 ? "" : paired });
};

export const whyPairServerTools: StepReason = () => ({
  code: "server-call-removed",
  text: "A call of a tool that the provider runs has no result, or a result has no call, so it is not sent.",
  rules: ["server-call-without-result", "server-result-without-call"],
});
