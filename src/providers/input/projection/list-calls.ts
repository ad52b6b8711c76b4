/** Sends every call in `tool_calls`, and nowhere else. The result of a call with bad arguments says what was wrong. */

import { isWritable, withListedCalls } from "../../../history/calls/listed-calls.js";
import { argumentsOf, callsOf, isAIMessage } from "../../../history/messages/call.js";
import type { Step, StepReason } from "./step.js";

export const listCalls: Step = () => (message) => (isAIMessage(message) ? withListedCalls(message) : message);

export const whyListCalls: StepReason = ({ before, after }) => {
  const given = argumentsOf(before);
  const unsound = callsOf(after ?? before).filter((_, index) => !isWritable(given[index]));
  const names = unsound.map(({ id }) => `"${id}"`).join(", ");
  if (names === "")
    return { code: "calls-listed", text: "Its calls are sent in one list, and in no other field or block." };
  return {
    code: "calls-listed",
    text: `The arguments of these calls are not a JSON object, so an object takes their place: ${names}.`,
    rules: ["arguments"],
  };
};
