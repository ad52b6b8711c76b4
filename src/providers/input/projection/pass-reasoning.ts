/**
 * Gives each assistant message reasoning, possibly empty, where the provider demands it. Removes it elsewhere.
 *
 * DeepSeek's thinking mode demands the reasoning of earlier responses. It accepts empty reasoning where it is lost,
 * or where another model wrote the message. Without thinking it ignores the field. For an unknown host, its client
 * decides whether the field is sent: see `clients/send-reasoning.ts`.
 */

import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { mayHaveWritten } from "../../dialects/maker.js";
import { REASONING_FIELD, reasoningOf } from "../../dialects/reasoning-field.js";
import type { Step, StepReason } from "./step.js";

export const passReasoning: Step = (target) => (message) => {
  if (!isAIMessage(message)) return message;
  const isDemanded = target.dialect.rules["missing-reasoning"] !== undefined;
  if (!isDemanded && message.additional_kwargs?.[REASONING_FIELD] === undefined) return message;
  const { [REASONING_FIELD]: written, ...others } = message.additional_kwargs ?? {};
  if (!isDemanded) return copyMessage(message, { additional_kwargs: others });
  const reasoning = mayHaveWritten(message, target) ? (reasoningOf(message) ?? "") : "";
  if (written === reasoning) return message;
  return copyMessage(message, { additional_kwargs: { ...others, [REASONING_FIELD]: reasoning } });
};

export const whyPassReasoning: StepReason = ({ after, target }) => {
  if (target.dialect.rules["missing-reasoning"] === undefined)
    return {
      code: "reasoning-changed",
      text: "The provider does not take reasoning back, so it is not sent.",
    };
  const isEmpty = after === undefined || reasoningOf(after) === "";
  return {
    code: "reasoning-changed",
    text: `The provider demands reasoning${isEmpty ? ", and the model's own is not known, so an empty one is sent" : ""}.`,
    rules: ["missing-reasoning"],
  };
};
