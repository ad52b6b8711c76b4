/** The rule about reasoning that a host demands back, and what else a host put into its own model's messages. */

import { isAIMessage } from "../../history/call.js";
import { copyMessage } from "../../history/message.js";
import { isNotedOwn, mayHaveWritten } from "../contract/author.js";
import { REASONING_FIELD } from "../contract/host-fields.js";
import { hasReasoningField, reasoningOf, withoutHostFields } from "../host-fields/fields.js";
import type { HistoryRule, InputStep } from "./rule.js";

/*
 * What the target's host put into its own model's messages stays, and is removed elsewhere. Its client decides what is
 * sent: see `host-fields`.
 */

export const passFields: InputStep = (target) => {
  const { rules, hasHostFields } = target.dialect;
  const isDemanded = rules["missing-reasoning"] !== undefined;
  return (message) => {
    if (!isAIMessage(message)) return message;
    const isOwn = mayHaveWritten(message, target);
    const own =
      (isOwn && hasHostFields) || isNotedOwn(message, target)
        ? message
        : withoutHostFields(message, isDemanded ? [REASONING_FIELD] : []);
    const reasoning = (isOwn && reasoningOf(message)) || "";
    const isGiven = hasReasoningField(own) && own.additional_kwargs[REASONING_FIELD] === reasoning;
    if (!isDemanded || isGiven) return own;
    return copyMessage(own, {
      additional_kwargs: { ...own.additional_kwargs, [REASONING_FIELD]: reasoning },
    });
  };
};

/**
 * DeepSeek's thinking mode demands earlier responses' reasoning. It accepts empty reasoning if it is lost, or if another
 * model wrote the message. Without thinking it ignores the field.
 */
export const PASSED_REASONING: HistoryRule = {
  name: "missing-reasoning",
  about: "content",
  meaning: "An assistant message lacks the reasoning that must be passed back.",
  find: (messages) => {
    // Without reasoning anywhere, the model may not have thought.
    if (!messages.some(({ message }) => reasoningOf(message))) return [];
    return messages.flatMap(({ message, index }) =>
      isAIMessage(message) && !hasReasoningField(message) ? [{ index }] : [],
    );
  },
  step: passFields,
};
