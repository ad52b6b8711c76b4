/** What Studio's form says about the settings that a run can choose: the comments of their rows. */

import type { RunSchemas } from "./settings.js";

// Settings: written by `npm run docs:settings`.

export const RUN_HELP: Readonly<Record<keyof RunSchemas, string>> = {
  model:
    "The chat model, or its name as `provider:model`. A run may choose this model or one of `models` by name. Default: that of the graph.",
  systemPrompt:
    "The instructions before the conversation. A run may replace them. Default: that of the graph.",
  toolChoice:
    "Whether the model may (`auto`), must not (`none`) or must (`required`) call a tool. An object can name the required tool and say what happens after its result. Default: that of the graph.",
  maxIterations:
    "How many times the model may call tools in one turn. After that it is asked for a final response without tools. Default: that of the graph.",
  maxToolCalls:
    "How many tool calls may run in one turn. A batch of calls that would exceed this limit is not run. Default: that of the graph.",
  maxToolCallsPerThread:
    "How many tool calls may run in one thread. A batch of calls that would exceed this limit is not run. Default: that of the graph.",
  maxTokensPerTurn:
    "How many tokens the model may use in one turn, input and output together. After that it is asked for a final response without tools. Default: that of the graph.",
  maxTokensPerThread:
    "How many tokens the model may use in one thread, input and output together. After that it is asked for a final response without tools, and in later turns it is not asked. Default: that of the graph.",
  maxConsecutiveErrors:
    "How many times in a row all tool calls of a response may fail. After that the model is asked for a final response without tools. Default: that of the graph.",
  maxToolCallsFromHistory:
    "How many tool calls of earlier turns the model is shown, with their results. As an object, `{ max, clearAtLeast }`: once there are more than `max`, the oldest `clearAtLeast` are left out together, so that the provider's prompt cache is lost less often. A run can choose a number. Default: that of the graph.",
  maxTokensBeforeSummary:
    "How many tokens the model input may have, tool schemas included, before its earlier part is summarised. 0 means no limit. Default: that of the graph.",
  maxMessagesBeforeSummary:
    "How many messages the model input may have before its earlier part is summarised. 0 means no limit. Default: that of the graph.",
  messagesToKeep:
    "How many of the latest messages a summary leaves as they are, if the token limit has room for them. Fewer make a thread cheaper, because each request begins with them. With `maxMessagesBeforeSummary`, at most half of that number stays. Default: that of the graph.",
  tokensToKeep:
    "How many tokens of the latest messages a summary leaves as they are. It replaces `messagesToKeep`. Default: that of the graph.",
};

// End of the settings.
