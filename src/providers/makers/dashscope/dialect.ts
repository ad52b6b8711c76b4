/** The rules of Alibaba's DashScope (Qwen): the OpenAI-compatible endpoint and the native one. */

import type { Dialect } from "../../contract/dialect.js";
import { CHAT_CLIENT, CHAT_MEDIA } from "../../contract/openai-protocol.js";
import { confirmed, EVERYWHERE, INFERRED } from "../../contract/rule.js";

const PREFIX = "<400> InternalError.Algo.InvalidParameter:";

/** The OpenAI-compatible endpoint, through an OpenAI client. */
export const dashscope = {
  ...CHAT_CLIENT,
  rules: {
    ...EVERYWHERE,
    // The error names an index where OpenAI lists ids.
    "missing-result": confirmed(
      `${PREFIX} An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id". The following tool_call_ids did not have response messages: message[{next}].role`,
      "QwenLM/qwen-code/issues/606",
    ),
    "orphan-result": confirmed(
      `${PREFIX} messages with role "tool" must be a response to a preceeding message with "tool_calls".`,
      "philschmid/mcp-openai-gemini-llama-example/pull/5",
    ),
    "tool-name": confirmed("The length of the tool name cannot exceed 64.", "QwenLM/Qwen3-VL/issues/2069"),
    arguments: confirmed(
      `${PREFIX} The "function.arguments" parameter of the code model must be in JSON format.`,
      "HKUDS/nanobot/issues/1487",
    ),
    "empty-calls": confirmed(
      "Empty tool_calls is not supported in message",
      "smallmain/vscode-unify-chat-provider/pull/65",
    ),
    role: confirmed(
      "{name} is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.['{index}].role'",
      "DayuanJiang/next-ai-draw-io/issues/304",
    ),
    "content-form": confirmed(
      "Input error. Field required: input.messages.{index}.content",
      "agentscope-ai/agentscope-java/issues/1270",
    ),
    "foreign-block": INFERRED["foreign-block"],
  },
  // "The image length and width do not meet the model restrictions. [height:1 or width:1 must be larger than 10]"
  // (QwenLM/qwen-code#2505)
  mediaLimits: { leastPixels: 11 },
  otherRoles: /^function$/,
  blocksIn: ["human", "ai", "tool"],
  media: CHAT_MEDIA,
  makers: ["openai", "alibaba_tongyi"],
} as const satisfies Dialect;

const { otherRoles: _, ...inCommon } = dashscope;

/** DashScope's native protocol. `ChatAlibabaTongyi` throws for content that is not a string, and for other roles. */
export const dashscopeNative = {
  ...inCommon,
  blocksIn: [],
  media: CHAT_CLIENT.media,
} as const satisfies Dialect;

/** Who gets the dialects of this maker. */
export const dashscopeModels = {
  clients: { alibaba_tongyi: "dashscope-native" },
  hosts: [[/(^|\.)dashscope[a-z-]*\.aliyuncs\.com$/, "dashscope"]],
} as const;
