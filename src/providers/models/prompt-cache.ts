/**
 * Marks what a provider keeps of a request in its prompt cache. Other providers than Anthropic cache by themselves. See
 * https://docs.claude.com/en/docs/build-with-claude/prompt-caching.
 */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { isRecord } from "../../shared/is-record.js";
import { dialectOf } from "../dialects/dialect-of.js";
import { viewOf } from "./model-view.js";

/** Whether requests are marked for a provider that caches only what is marked. */
export type PromptCache = "auto" | "off";

const MARK = { cache_control: { type: "ephemeral" } } as const;

/** The marks of one model's requests. Each leaves what it is given as it is, and returns a marked copy. */
export interface PromptCacheMarks {
  readonly tools: (tools: readonly BindToolsInput[]) => readonly BindToolsInput[];
  readonly messages: (messages: BaseMessage[]) => BaseMessage[];
  /** The client puts this mark behind the last message when it makes the request. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

const ANTHROPIC: PromptCacheMarks = {
  tools: (tools) => tools.map((tool, index) => (index === tools.length - 1 ? markTool(tool) : tool)),
  messages: (messages) =>
    messages.map((message) => (message.type === "system" ? markSystem(message) : message)),
  parameters: MARK,
};

const NONE: PromptCacheMarks = { tools: (tools) => tools, messages: (messages) => messages, parameters: {} };

/** The marks that the model's provider reads. */
export function promptCacheMarks(model: BaseChatModel, wanted: PromptCache): PromptCacheMarks {
  return wanted === "auto" && dialectOf(model) === "anthropic" ? ANTHROPIC : NONE;
}

function markSystem(message: BaseMessage): BaseMessage {
  const blocks: Record<string, unknown>[] =
    typeof message.content === "string" ? [{ type: "text", text: message.content }] : [...message.content];
  const last = blocks.at(-1);
  if (last === undefined) return message;
  const content = [...blocks.slice(0, -1), { ...MARK, ...last }];
  return new SystemMessage({ content: content as SystemMessage["content"] });
}

/** The form in which OpenAI's clients take tools has no place for a mark. */
function markTool(tool: BindToolsInput): BindToolsInput {
  if ("input_schema" in tool) return { ...MARK, ...tool };
  if (!("schema" in tool)) return tool;
  const extras: unknown = Reflect.get(tool, "extras");
  return viewOf(tool, { extras: { ...MARK, ...(isRecord(extras) && extras) } });
}
