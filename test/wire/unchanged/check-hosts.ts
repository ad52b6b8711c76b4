/** Rules of hosts that have no strict provider: only those that tell a sound history of the host from another one. */

import { checkAnthropic } from "../../support/strict-provider/check-anthropic.js";
import { checkDeepSeek } from "../../support/strict-provider/check-chat.js";
import {
  type Fields,
  listIn,
  listOf,
  type Refusal,
  type RequestCheck,
  textOf,
} from "../../support/strict-provider/refusal.js";

/** DeepSeek without its rule of the reasoning, which no client keeps alone. */
export const checkDeepSeekText: RequestCheck = (body, stored) =>
  checkDeepSeek(
    { messages: listIn(body, "messages").map((message) => ({ reasoning_content: "", ...message })) },
    stored,
  );

/** Claude from Opus 4.8 on also takes system messages after the user's: vllm-project/vllm/pull/44505 */
export const checkNewerClaude: RequestCheck = (body, stored) =>
  checkAnthropic({ messages: listIn(body, "messages").filter(({ role }) => role !== "system") }, stored);

/** "Each message must have at least one content element." (docs.x.ai; OpenHands/OpenHands/issues/8685) */
export const checkXAI: RequestCheck = (body) =>
  refuseIf(listIn(body, "messages").some(isEmpty), "Each message must have at least one content element.");

/** MoonshotAI: AstrBotDevs/AstrBot/issues/7200 */
export const checkKimi: RequestCheck = (body) =>
  refuseIf(
    listIn(body, "messages").some((message) => message["role"] === "assistant" && isEmpty(message)),
    "Invalid request: the message with role 'assistant' must not be empty",
  );

/** Code 1214: anomalyco/opencode/issues/2557 and songquanpeng/one-api/issues/1153 */
export const checkGlm: RequestCheck = (body) => {
  const messages = listIn(body, "messages");
  const isRefused =
    !messages.some(({ role }) => role === "user") ||
    messages.some((message) => message["role"] === "assistant" && isEmpty(message));
  return refuseIf(isRefused, "The messages parameter is illegal. Please check the documentation.");
};

/** Code 2013: MiniMax-AI/MiniMax-M2/issues/51 and VicBilibily/GCMP/pull/120 */
export const checkMiniMax: RequestCheck = (body) => {
  const messages = listIn(body, "messages");
  const ids = messages.flatMap(({ tool_calls }) => listOf(tool_calls)).map(({ id }) => textOf(id));
  if (new Set(ids).size < ids.length) return refuseIf(true, "invalid params, duplicate tool_call id (2013)");
  return refuseIf(
    messages.filter(({ role }) => role === "system").length > 1,
    "invalid params, invalid chat setting (2013)",
  );
};

/** Bedrock Converse: microsoft/semantic-kernel/issues/10281, Portkey-AI/gateway/issues/995, NousResearch/hermes-agent/pull/63983 */
export const checkBedrock: RequestCheck = (body) => {
  const messages = listIn(body, "messages");
  const blocks = messages.map(({ content }) => listOf(content));
  if (blocks.some((content) => content.length === 0))
    return refuseIf(true, "The content field in the Message object is empty.");
  if (blocks.flat().some(({ text }) => typeof text === "string" && text.trim() === ""))
    return refuseIf(true, "messages: text content blocks must contain non-whitespace text");
  const ids = blocks.flat().flatMap(({ toolUse }) => listOf([toolUse]).map(({ toolUseId }) => toolUseId));
  if (new Set(ids).size < ids.length) return refuseIf(true, "A toolUseId occurs twice.");
  const [first] = messages;
  if (first?.["role"] !== "user") return refuseIf(true, "A conversation must start with a user message.");
  return refuseIf(
    messages.some(({ role }, index) => role === messages[index - 1]?.["role"]),
    "A conversation must alternate between user and assistant roles.",
  );
};

function isEmpty({ content, tool_calls }: Fields): boolean {
  const isBlank =
    content === undefined ||
    content === null ||
    content === "" ||
    (Array.isArray(content) && content.length === 0);
  return isBlank && listOf(tool_calls).length === 0;
}

function refuseIf(isRefused: boolean, message: string): Refusal | undefined {
  return isRefused ? { status: 400, body: { error: { message } } } : undefined;
}
