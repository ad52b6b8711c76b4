/**
 * Each assistant's message carries reasoning, be it empty.
 *
 * DeepSeek's thinking mode demands the reasoning of earlier answers back and takes an empty one where it is lost, or
 * was never there as another model wrote the message. Without thinking it ignores the field.
 */

import { isAIMessage } from "../../history/call.js";
import { copyMessage } from "../../history/copy-message.js";
import { mapMessages } from "./map-messages.js";
import type { Step } from "./step.js";

export const REASONING_FIELD = "reasoning_content";

export const passReasoning: Step = (messages, { dialect }) => {
  if (dialect.rules["missing-reasoning"] === undefined) return messages;
  return mapMessages(messages, (message) => {
    const isWithout =
      isAIMessage(message) && typeof message.additional_kwargs?.[REASONING_FIELD] !== "string";
    if (!isWithout) return message;
    return copyMessage(message, {
      additional_kwargs: { ...message.additional_kwargs, [REASONING_FIELD]: "" },
    });
  });
};
