/** Settings of the model: which model is asked, and how. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { z } from "zod/v4";
import { DIALECTS, type DialectName } from "../providers/dialects/dialects.js";
import { type CreateModel, cachedCreateModel } from "../providers/models/cached-create-model.js";
import { listWithOr } from "../shared/list-with-or.js";
import { readFlag, readNames, readNumber, readText } from "./environment-text.js";
import { aFunction, countFrom, flag, listOf, oneOf, text } from "./rule.js";
import type { SettingsTable } from "./setting.js";

export const MODEL_SETTINGS = {
  /**
   * The chat model, or its name as `provider:model`. A run may choose this model or one of `models` by name.
   * Required.
   */
  model: {
    schema: z.custom<BaseChatModel | string>(() => true),
    expects: "a model",
    help: "The chat model, or its name as `provider:model`. A run may choose this model or one of `models` by name. Required.",
    default: undefined,
    env: { name: "MODEL", read: readText, expects: "a model as provider:name" },
    perRun: text,
    required: true,
  },
  /** The names of further models that a run may choose in its `context`. Default: none. */
  models: {
    schema: z.array(z.string()).readonly(),
    expects: "a list of model names",
    help: "The names of further models that a run may choose in its `context`. Default: none.",
    default: [],
    env: { name: "MODELS", read: readNames, expects: "model names separated by commas" },
  },
  /**
   * The chat models, or their names, that are asked in this order when the model before them fails for good: its
   * provider cannot be reached, fails, refuses the request, or gives no complete response. The switch lasts until the
   * turn ends. Default: none.
   */
  fallbackModels: {
    ...listOf<BaseChatModel | string>("models"),
    help: "The chat models, or their names, that are asked in this order when the model before them fails for good: its provider cannot be reached, fails, refuses the request, or gives no complete response. The switch lasts until the turn ends. Default: none.",
    default: [],
    env: { name: "FALLBACK_MODELS", read: readNames, expects: "model names separated by commas" },
  },
  /**
   * The function that makes a model from its name. Pass one `cachedCreateModel()` to several graphs to let them
   * share their models. Default: a `cachedCreateModel()` for this graph alone.
   */
  createModel: {
    ...aFunction<CreateModel>(),
    help: "The function that makes a model from its name. Pass one `cachedCreateModel()` to several graphs to let them share their models. Default: a `cachedCreateModel()` for this graph alone.",
    get default() {
      return cachedCreateModel();
    },
  },
  /**
   * Whose rules the messages for `model` and `models` keep, such as `openai` or `mistral-openai`: a dialect. Fallback
   * models keep their own. Default: the rules of each model's provider, by its client, host and name.
   */
  dialect: {
    schema: z.custom<DialectName>((name) => typeof name === "string" && Object.hasOwn(DIALECTS, name)),
    expects: listWithOr(Object.keys(DIALECTS)),
    help: "Whose rules the messages for `model` and `models` keep, such as `openai` or `mistral-openai`: a dialect. Fallback models keep their own. Default: the rules of each model's provider, by its client, host and name.",
    default: undefined,
    env: { name: "DIALECT", read: readText },
  },
  /** The instructions before the conversation. A run may replace them. Default: none. */
  systemPrompt: {
    ...text,
    help: "The instructions before the conversation. A run may replace them. Default: none.",
    default: undefined,
    env: { name: "SYSTEM_PROMPT", read: readText },
    perRun: true,
  },
  /**
   * Whether requests have marks for the provider's prompt cache: `auto` marks the tools, the system prompt and the last
   * message for Anthropic's models. The other providers cache without marks. `off` sets none. Default: `off`.
   */
  promptCache: {
    ...oneOf(["auto", "off"]),
    help: "Whether requests have marks for the provider's prompt cache: `auto` marks the tools, the system prompt and the last message for Anthropic's models. The other providers cache without marks. `off` sets none. Default: `off`.",
    default: "off",
    env: { name: "PROMPT_CACHE", read: readText },
  },
  /**
   * Whether clients can send system and developer messages. If not, such a message is stored as the user's words, and
   * the event `role-changed` says so. Default: true.
   */
  acceptSystemMessages: {
    ...flag,
    help: "Whether clients can send system and developer messages. If not, such a message is stored as the user's words, and the event `role-changed` says so. Default: true.",
    default: true,
    env: { name: "ACCEPT_SYSTEM_MESSAGES", read: readFlag },
  },
  /** How many characters a message of a client may have, written as JSON. A longer one is refused. Default: no limit. */
  maxMessageLength: {
    ...countFrom(1),
    help: "How many characters a message of a client may have, written as JSON. A longer one is refused. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_MESSAGE_LENGTH", read: readNumber },
  },
  /**
   * How many times a response is requested again, without streaming, if its stream was cut off, empty or otherwise
   * incomplete. After that the run fails with a `ModelError`, and the history stays as it was. Default: 3.
   */
  maxStreamFallbackAttempts: {
    ...countFrom(0),
    help: "How many times a response is requested again, without streaming, if its stream was cut off, empty or otherwise incomplete. After that the run fails with a `ModelError`, and the history stays as it was. Default: 3.",
    default: 3,
    env: { name: "MAX_STREAM_FALLBACK_ATTEMPTS", read: readNumber },
  },
} as const satisfies SettingsTable;
