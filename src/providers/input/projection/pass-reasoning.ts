/**
 * Each assistant's message carries reasoning, be it empty, where the provider demands it; elsewhere none does.
 *
 * DeepSeek's thinking mode demands the reasoning of earlier answers back and takes an empty one where it is lost, or
 * where another model wrote the message. Without thinking it ignores the field. Whether a host that is not known is
 * sent the field, its client decides: see `clients/send-reasoning.ts`.
 */

import { isAIMessage } from "../../../history/call.js";
import { copyMessage } from "../../../history/copy-message.js";
import { mayHaveWritten } from "../maker.js";
import { REASONING_FIELD, reasoningOf } from "../reasoning-field.js";
import { mapMessages } from "./map-messages.js";
import type { Step } from "./step.js";

export const passReasoning: Step = (messages, target) =>
  mapMessages(messages, (message) => {
    if (!isAIMessage(message)) return message;
    const { [REASONING_FIELD]: written, ...others } = message.additional_kwargs ?? {};
    if (target.dialect.rules["missing-reasoning"] === undefined)
      return written === undefined ? message : copyMessage(message, { additional_kwargs: others });
    const reasoning = mayHaveWritten(message, target) ? (reasoningOf(message) ?? "") : "";
    if (written === reasoning) return message;
    return copyMessage(message, { additional_kwargs: { ...others, [REASONING_FIELD]: reasoning } });
  });
