import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/messages/call.js";
import { DIALECTS, type DialectName } from "../../providers/dialects/dialects.js";
import { readMaker } from "../../providers/dialects/maker.js";

/** Dialects that share the name of their maker with another one are told apart by nothing in a message. */
const CANDIDATES: readonly DialectName[] = [
  "openai",
  "anthropic",
  "gemini",
  "mistral",
  "deepseek",
  "dashscope",
];

/** The dialect of the model that wrote the latest response; undefined if the messages do not say. */
export function dialectIn(messages: readonly BaseMessage[]): DialectName | undefined {
  const responses = messages.filter(isAIMessage).toReversed();
  for (const response of responses) {
    const { provider } = readMaker(response);
    if (provider === undefined) continue;
    return CANDIDATES.find((name) => DIALECTS[name].makers.some((maker) => maker === provider));
  }
  return undefined;
}
