/**
 * Gives each assistant message reasoning, possibly empty, where the provider demands it. Removes it elsewhere.
 *
 * DeepSeek's thinking mode demands the reasoning of earlier responses. It accepts empty reasoning where it is lost,
 * or where another model wrote the message. Without thinking it ignores the field. A host that only has OpenAI's protocol
 * gets what its model wrote. Its client decides whether the field is sent: see `clients/send-reasoning.ts`.
 */

import type { AIMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { mayHaveWritten } from "../../dialects/maker.js";
import { REASONING_FIELD, reasoningOf } from "../../dialects/reasoning-field.js";
import type { Step, StepReason } from "./step.js";

export const passReasoning: Step = (target) => {
  const { rules, stateFields } = target.dialect;
  const isDemanded = rules["missing-reasoning"] !== undefined;
  const isTaken = stateFields.some(({ name }) => name === REASONING_FIELD);
  return (message) => {
    if (!isAIMessage(message)) return message;
    const written: unknown = message.additional_kwargs?.[REASONING_FIELD];
    const own = reasoningOf(message) ?? "";
    const isOwn = own !== "" && mayHaveWritten(message, target);
    if (!isDemanded) return written === undefined || (isTaken && isOwn) ? message : withoutReasoning(message);
    const reasoning = isOwn ? own : "";
    if (written === reasoning) return message;
    return copyMessage(message, {
      additional_kwargs: { ...message.additional_kwargs, [REASONING_FIELD]: reasoning },
    });
  };
};

function withoutReasoning(message: AIMessage): AIMessage {
  const { [REASONING_FIELD]: _, ...additional_kwargs } = message.additional_kwargs;
  return copyMessage(message, { additional_kwargs });
}

export const whyPassReasoning: StepReason = ({ after, target }) => {
  if (target.dialect.rules["missing-reasoning"] === undefined)
    return {
      code: "reasoning-changed",
      text: "The provider does not take this reasoning back, so it is not sent.",
    };
  const isEmpty = after === undefined || reasoningOf(after) === "";
  return {
    code: "reasoning-changed",
    text: `The provider demands reasoning${isEmpty ? ", and the model's own is not known, so an empty one is sent" : ""}.`,
    rules: ["missing-reasoning"],
  };
};
