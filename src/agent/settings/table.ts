/** The rows of the settings, one for each option. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { isInteropZodObject } from "@langchain/core/utils/types";
import { type BaseCheckpointSaver, type BaseStore, StateSchema } from "@langchain/langgraph";
import { z } from "zod/v4";
import { DIALECTS, type DialectName } from "../../providers/dialects.js";
import { type CreateModel, cachedCreateModel } from "../../providers/models/create-model.js";
import type { ProviderTool } from "../../providers/models/tools.js";
import {
  aFunction,
  countFrom,
  flag,
  hintAtClass,
  listOf,
  milliseconds,
  objectWith,
  oneOf,
  orFlag,
  type Rule,
  readFlag,
  readJson,
  readNames,
  readNumber,
  readText,
  type SettingsTable,
  text,
} from "../../shared/check-settings.js";
import { listWithOr } from "../../shared/text.js";
import type { OwnContextSchema, OwnStateSchema } from "../../threads/own-state.js";
import type { ThreadLock } from "../../threads/thread-lock.js";
import { requireApprovalRule } from "../approval-rules.js";
import { responseFormatRule } from "../format/response-format.js";
import type { NamesWith, Settings } from "./settings.js";
import { toolChoiceRule } from "./tools.js";

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

/*
 * Settings of the tools: which tools there are, who runs their calls, and what happens when they fail.
 */

export const TOOL_SETTINGS = {
  /**
   * The LangChain tools that the model may call, at most 128, and tools that its provider runs, such as
   * `{ type: "web_search_preview" }`. A name has 1 to 64 letters, digits, `_` and `-`, begins with a letter or `_`,
   * and belongs to one tool only. Default: none.
   */
  tools: {
    ...listOf<StructuredToolInterface | ProviderTool>("tools"),
    help: 'The LangChain tools that the model may call, at most 128, and tools that its provider runs, such as `{ type: "web_search_preview" }`. A name has 1 to 64 letters, digits, `_` and `-`, begins with a letter or `_`, and belongs to one tool only. Default: none.',
    default: [],
  },
  /**
   * The tools whose calls wait for a human's approval: a list of names, a function that decides for each call, or an
   * object with options for each tool, as LangChain's `interruptOn`. Default: none.
   */
  requireApproval: {
    ...requireApprovalRule,
    help: "The tools whose calls wait for a human's approval: a list of names, a function that decides for each call, or an object with options for each tool, as LangChain's `interruptOn`. Default: none.",
    default: [],
    env: { name: "REQUIRE_APPROVAL", read: readNames, expects: "names of tools separated by commas" },
  },
  /**
   * Whether the model may (`auto`), must not (`none`) or must (`required`) call a tool. An object can name the
   * required tool and say what happens after its result. Default: `auto`.
   */
  toolChoice: {
    ...toolChoiceRule,
    help: "Whether the model may (`auto`), must not (`none`) or must (`required`) call a tool. An object can name the required tool and say what happens after its result. Default: `auto`.",
    default: "auto",
    env: { name: "TOOL_CHOICE", read: readText, expects: "auto, none or required" },
    perRun: true,
  },
  /**
   * The format of the final response: a zod or JSON schema, `toolStrategy(…)` or `providerStrategy(…)`. The response is
   * in `structuredResponse`. Default: a text.
   */
  responseFormat: {
    ...responseFormatRule,
    help: "The format of the final response: a zod or JSON schema, `toolStrategy(…)` or `providerStrategy(…)`. The response is in `structuredResponse`. Default: a text.",
    default: undefined,
  },
  /** Tools that the model may call and the caller of the run executes, as with `autoInvoke: false`. Default: none. */
  additionalTools: {
    ...listOf<BindToolsInput>("tools"),
    help: "Tools that the model may call and the caller of the run executes, as with `autoInvoke: false`. Default: none.",
    default: [],
  },
  /**
   * Whether the graph runs the tool calls of its model. If not, a run ends with the calls, the caller sends the
   * results as input, and the model goes on when all of them are there. Default: true.
   */
  autoInvoke: {
    ...flag,
    help: "Whether the graph runs the tool calls of its model. If not, a run ends with the calls, the caller sends the results as input, and the model goes on when all of them are there. Default: true.",
    default: true,
  },
  /**
   * Whether a call of an unknown tool ends the run. If not, the model is told about its mistake and goes on.
   * Default: false.
   */
  terminateOnUnknownCalls: {
    ...flag,
    help: "Whether a call of an unknown tool ends the run. If not, the model is told about its mistake and goes on. Default: false.",
    default: false,
    env: { name: "TERMINATE_ON_UNKNOWN_CALLS", read: readFlag },
  },
  /**
   * Whether the model reads the message of an error that a tool threw. If not, it is only told that the tool failed.
   * Default: false.
   */
  includeDetailedErrors: {
    ...flag,
    help: "Whether the model reads the message of an error that a tool threw. If not, it is only told that the tool failed. Default: false.",
    default: false,
    env: { name: "INCLUDE_DETAILED_ERRORS", read: readFlag },
  },
  /** How many milliseconds a tool call may take. After that it ends with an error. Default: no limit. */
  toolTimeoutMs: {
    ...milliseconds,
    help: "How many milliseconds a tool call may take. After that it ends with an error. Default: no limit.",
    default: undefined,
    env: { name: "TOOL_TIMEOUT_MS", read: readNumber },
  },
} as const satisfies SettingsTable;

/*
 * Settings of a turn: its limits, those of its thread, and how much of earlier turns the model sees.
 */

/** See `ToolCallsToKeep`. */
const callsToKeep = {
  schema: z.union([
    z.number().int().min(0),
    z.strictObject({ max: z.number().int().min(0), clearAtLeast: z.number().int().min(1).optional() }),
  ]),
  expects:
    "an integer of 0 or more, or an object with `max` (0 or more) and `clearAtLeast` (1 or more), both integers",
} satisfies Rule;

export const TURN_SETTINGS = {
  /**
   * How many times the model may call tools in one turn. After that it is asked for a final response without tools.
   * Default: 40.
   */
  maxIterations: {
    ...countFrom(1),
    help: "How many times the model may call tools in one turn. After that it is asked for a final response without tools. Default: 40.",
    default: 40,
    env: { name: "MAX_ITERATIONS", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tool calls may run in one turn. A batch of calls that would exceed this limit is not run. Default: no
   * limit.
   */
  maxToolCalls: {
    ...countFrom(0),
    help: "How many tool calls may run in one turn. A batch of calls that would exceed this limit is not run. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_TOOL_CALLS", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tool calls may run in one thread. A batch of calls that would exceed this limit is not run. Default: no
   * limit.
   */
  maxToolCallsPerThread: {
    ...countFrom(0),
    help: "How many tool calls may run in one thread. A batch of calls that would exceed this limit is not run. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_TOOL_CALLS_PER_THREAD", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tokens the model may use in one turn, input and output together. After that it is asked for a final
   * response without tools. Default: no limit.
   */
  maxTokensPerTurn: {
    ...countFrom(1),
    help: "How many tokens the model may use in one turn, input and output together. After that it is asked for a final response without tools. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_TOKENS_PER_TURN", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tokens the model may use in one thread, input and output together. After that it is asked for a final
   * response without tools, and in later turns it is not asked. Default: no limit.
   */
  maxTokensPerThread: {
    ...countFrom(1),
    help: "How many tokens the model may use in one thread, input and output together. After that it is asked for a final response without tools, and in later turns it is not asked. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_TOKENS_PER_THREAD", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many times in a row all tool calls of a response may fail. After that the model is asked for a final
   * response without tools. Default: 3.
   */
  maxConsecutiveErrors: {
    ...countFrom(1),
    help: "How many times in a row all tool calls of a response may fail. After that the model is asked for a final response without tools. Default: 3.",
    default: 3,
    env: { name: "MAX_CONSECUTIVE_ERRORS", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tool calls of earlier turns the model is shown, with their results. As an object, `{ max, clearAtLeast }`:
   * once there are more than `max`, the oldest `clearAtLeast` are left out together, so that the provider's prompt
   * cache is lost less often. Default: all.
   */
  maxToolCallsFromHistory: {
    ...callsToKeep,
    help: "How many tool calls of earlier turns the model is shown, with their results. As an object, `{ max, clearAtLeast }`: once there are more than `max`, the oldest `clearAtLeast` are left out together, so that the provider's prompt cache is lost less often. Default: all.",
    default: undefined,
    env: {
      name: "MAX_TOOL_CALLS_FROM_HISTORY",
      read: readJson,
      expects: 'an integer of 0 or more, or JSON such as {"max":12,"clearAtLeast":6}',
    },
    // A number, as Studio's form has no field for either a number or an object.
    perRun: countFrom(0),
  },
} as const satisfies SettingsTable;

/*
 * Settings of the services of a graph: middleware, a checkpointer and a store.
 */

export const SERVICE_SETTINGS = {
  /** Middleware around runs, model calls and tool calls. The first one of a kind is the outermost. Default: none. */
  middleware: {
    ...listOf<unknown>("middleware"),
    help: "Middleware around runs, model calls and tool calls. The first one of a kind is the outermost. Default: none.",
    default: [],
  },
  /**
   * Where threads are saved. A LangGraph server brings its own, and without one a run remembers nothing. As a subgraph,
   * `true` gives the agent a memory of its own in each thread of its parent, and `false` saves nothing. Default: none.
   */
  checkpointer: {
    ...orFlag(objectWith<BaseCheckpointSaver>("getTuple", "a checkpointer, true or false")),
    help: "Where threads are saved. A LangGraph server brings its own, and without one a run remembers nothing. As a subgraph, `true` gives the agent a memory of its own in each thread of its parent, and `false` saves nothing. Default: none.",
    default: undefined,
  },
  /**
   * How checkpoints store the messages. With `full`, each checkpoint holds all of them. With `delta`, it holds those that
   * its step added, which writes far fewer bytes in a long thread. LangGraph calls its delta channel beta. A thread can
   * change from one to the other. Default: `full`.
   */
  messagesChannel: {
    ...oneOf(["full", "delta"]),
    help: "How checkpoints store the messages. With `full`, each checkpoint holds all of them. With `delta`, it holds those that its step added, which writes far fewer bytes in a long thread. LangGraph calls its delta channel beta. A thread can change from one to the other. Default: `full`.",
    default: "full",
    env: { name: "MESSAGES_CHANNEL", read: readText },
  },
  /**
   * What happens when a run starts while another run of the same thread goes on in this process. With `enqueue` it waits
   * until that run has ended. With `reject` it fails with `THREAD_BUSY`. A lock, such as `postgresThreadLock(pool)`, makes
   * the runs of several processes wait for one another. Default: `enqueue`.
   */
  concurrentRuns: {
    schema: z.union([
      z.enum(["enqueue", "reject"]),
      objectWith<ThreadLock>("acquire", "a lock of threads").schema,
    ]),
    expects: "`enqueue`, `reject` or a lock of threads with the function `acquire`",
    help: "What happens when a run starts while another run of the same thread goes on in this process. With `enqueue` it waits until that run has ended. With `reject` it fails with `THREAD_BUSY`. A lock, such as `postgresThreadLock(pool)`, makes the runs of several processes wait for one another. Default: `enqueue`.",
    default: "enqueue",
  },
  /**
   * Whether runs take messages that are put into the inbox of their thread while they go on. The inbox is in the store.
   * Each model request reads it once, and so does the end of a turn. Default: true.
   */
  steering: {
    ...flag,
    help: "Whether runs take messages that are put into the inbox of their thread while they go on. The inbox is in the store. Each model request reads it once, and so does the end of a turn. Default: true.",
    default: true,
    env: { name: "STEERING", read: readFlag },
  },
  /**
   * The names of the settings that a run may choose in its `context`. Leave out `systemPrompt` to lock it. Default: all
   * that are marked "per run".
   */
  allowedSettings: {
    schema: z.array(z.string()).readonly(),
    expects: "a list of names of settings",
    help: 'The names of the settings that a run may choose in its `context`. Leave out `systemPrompt` to lock it. Default: all that are marked "per run".',
    default: undefined,
    env: { name: "ALLOWED_SETTINGS", read: readNames, expects: "names of settings separated by commas" },
  },
  /** The long-term memory that tools may use. A LangGraph server brings its own. Default: none. */
  store: {
    ...objectWith<BaseStore>("search", "a store"),
    help: "The long-term memory that tools may use. A LangGraph server brings its own. Default: none.",
    default: undefined,
  },
} as const satisfies SettingsTable;

/*
 * Settings of the agent itself: its name, and the own keys of its state and its context.
 */

const isStateSchema = (value: unknown) => isInteropZodObject(value) || StateSchema.isInstance(value);

export const SCHEMA_SETTINGS = {
  /**
   * The name of the agent: of its graph, and of each response as `message.name`. A supervisor or a swarm needs it.
   * Default: none.
   */
  name: {
    schema: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
    expects: "a text of 1 to 64 letters, digits, `_` and `-`",
    help: "The name of the agent: of its graph, and of each response as `message.name`. A supervisor or a swarm needs it. Default: none.",
    default: undefined,
  },
  /**
   * Keys of the state beside `messages`, as a zod object or a `StateSchema`. Tools read them in `runtime.state` and
   * write them with a `Command`. Default: none.
   */
  stateSchema: {
    schema: z.custom<OwnStateSchema>(isStateSchema),
    expects: "a zod object or a `StateSchema`",
    hint: hintAtClass,
    help: "Keys of the state beside `messages`, as a zod object or a `StateSchema`. Tools read them in `runtime.state` and write them with a `Command`. Default: none.",
    default: undefined,
  },
  /**
   * Keys of a run's `context` beside the settings of a run, as a zod object. Tools read them in `runtime.context`.
   * Default: none.
   */
  contextSchema: {
    schema: z.custom<OwnContextSchema>(isInteropZodObject),
    expects: "a zod object",
    hint: hintAtClass,
    help: "Keys of a run's `context` beside the settings of a run, as a zod object. Tools read them in `runtime.context`. Default: none.",
    default: undefined,
  },
} as const satisfies SettingsTable;

type LimitName = NamesWith<{ readonly lowerOnly: true }>;

/** The limits of a turn and of its thread. A run can lower the limits of its graph. */
export interface LoopLimits extends Pick<Settings, LimitName> {}
