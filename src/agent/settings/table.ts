/** The rows of the settings, one for each option. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { isInteropZodObject } from "@langchain/core/utils/types";
import { type BaseCheckpointSaver, type BaseStore, StateSchema } from "@langchain/langgraph";
import { z } from "zod/v4";
import type { ProviderTool } from "../../providers/contract/provider.js";
import { type CreateModel, cachedCreateModel } from "../../providers/models/create-model.js";
import {
  aFunction,
  aListOf,
  countFrom,
  flag,
  hintAtClass,
  milliseconds,
  objectWith,
  oneOf,
  orFlag,
  readJson,
  readNames,
  readText,
  type SettingsTable,
  text,
} from "../../shared/check-settings.js";
import type { OnRepair } from "../../threads/events.js";
import type { OwnContextSchema, OwnStateSchema } from "../../threads/own-state.js";
import type { ThreadLock } from "../../threads/saver/thread-lock.js";
import {
  dialectRule,
  FALLBACK_ATTEMPTS,
  MODEL_IDLE_TIMEOUT,
  toolCallsToKeepRule,
} from "../../threads/shared-settings.js";
import { requireApprovalRule } from "./approval-rules.js";
import { responseFormatRule } from "./response-format.js";
import { toolChoiceRule } from "./tools.js";

export const MODEL_SETTINGS = {
  /**
   * The chat model, or its name as `provider:model`. A run may choose this model or one of `models` by name.
   * Required.
   */
  model: {
    schema: z.custom<BaseChatModel | string>(() => true),
    expects: "a model",
    default: undefined,
    env: { read: readText, expects: "a model as provider:name" },
    perRun: text,
    required: true,
  },
  /** The names of further models that a run may choose in its `context`. Default: none. */
  models: {
    schema: z.array(z.string()).readonly(),
    expects: "a list of model names",
    default: [],
    env: { read: readNames, expects: "model names separated by commas" },
  },
  /**
   * The chat models, or their names, that take over in this order when a model fails for good: its provider is
   * unreachable, fails, refuses the request, or gives no complete response. The switch lasts until the turn ends.
   * Default: none.
   */
  fallbackModels: {
    ...aListOf<BaseChatModel | string>("models"),
    default: [],
    env: { read: readNames, expects: "model names separated by commas" },
  },
  /**
   * The function that makes a model from its name. Pass one `cachedCreateModel()` to several graphs to let them
   * share their models. Default: a `cachedCreateModel()` for this graph alone.
   */
  createModel: {
    ...aFunction<CreateModel>(),
    get default() {
      return cachedCreateModel();
    },
  },
  /**
   * Whose rules the messages for `model` and `models` keep, such as `openai` or `mistral-openai`: a dialect. Fallback
   * models keep their own. Default: the rules of each model's provider, by its client, host and name.
   */
  dialect: {
    ...dialectRule,
    default: undefined,
    env: true,
  },
  /** The instructions before the conversation. A run may replace them. Default: none. */
  systemPrompt: { ...text, default: undefined, env: true, perRun: true },
  /**
   * Whether requests have marks for the provider's prompt cache: `auto` marks the tools, the system prompt and the last
   * message for Anthropic's models, unless the messages or tools have marks of their own. The other providers cache
   * without marks. `off` sets none. Default: `auto`.
   */
  promptCache: { ...oneOf(["auto", "off"]), default: "auto", env: true },
  /**
   * Whether clients can send system and developer messages. If not, such a message is stored as the user's words, and
   * the event `role-changed` says so. Default: true.
   */
  acceptSystemMessages: { ...flag, default: true, env: true },
  /**
   * How many times a response is requested again, without streaming, if it was cut off, empty or otherwise
   * incomplete. After that the run fails with a `ModelError`, and the history stays as it was. Default: 3.
   */
  maxStreamFallbackAttempts: { ...countFrom(0), default: FALLBACK_ATTEMPTS, env: true },
  /**
   * How many milliseconds the model may be silent: before its first chunk, between two chunks, or before a response that
   * is not streamed. After that the request ends and counts as a cut stream. The client's waits between retries count
   * too. Ten minutes are enough for models that think. Default: 600,000.
   */
  modelIdleTimeoutMs: { ...milliseconds, default: MODEL_IDLE_TIMEOUT, env: true },
} as const satisfies SettingsTable;

/*
 * Settings of the tools: which exist, who runs their calls, and what happens when they fail.
 */

export const TOOL_SETTINGS = {
  /**
   * The LangChain tools that the model may call, and tools that its provider runs, such as
   * `{ type: "web_search_preview" }`. A name has 1 to 64 letters, digits, `_` and `-`, begins with a letter or `_`,
   * and belongs to one tool only. Default: none.
   */
  tools: { ...aListOf<StructuredToolInterface | ProviderTool>("tools"), default: [] },
  /**
   * The tools whose calls wait for a human's approval: a list of names, a function that decides for each call, or an
   * object with options for each tool, as LangChain's `interruptOn`. Default: none.
   */
  requireApproval: {
    ...requireApprovalRule,
    default: [],
    env: { read: readNames, expects: "names of tools separated by commas" },
  },
  /**
   * Whether a decision counts that names neither its question nor its calls, although the thread has asked about other
   * calls before. A page that still shows an earlier question may send such. If not, the question is asked again.
   * Default: false.
   */
  acceptUnnamedDecisions: { ...flag, default: false, env: true },
  /**
   * Whether the model may (`auto`), must not (`none`) or must (`required`) call a tool. An object can name the
   * required tool and say what happens after its result. Default: `auto`.
   */
  toolChoice: {
    ...toolChoiceRule,
    default: "auto",
    env: { read: readText, expects: "auto, none or required" },
    perRun: true,
  },
  /**
   * The format of the final response: a zod or JSON schema, `toolStrategy(…)` or `providerStrategy(…)`. The response is
   * in `structuredResponse`. Default: a text.
   */
  responseFormat: { ...responseFormatRule, default: undefined },
  /** Tools that the model may call and the caller of the run executes, as with `autoInvoke: false`. Default: none. */
  additionalTools: { ...aListOf<BindToolsInput>("tools"), default: [] },
  /**
   * Whether the graph runs the tool calls of its model. If not, a run ends with the calls, the caller sends the
   * results as input, and the model continues when all of them are there. Default: true.
   */
  autoInvoke: { ...flag, default: true },
  /**
   * Whether a call of an unknown tool ends the run. If not, the model is told about its mistake and continues.
   * Default: false.
   */
  terminateOnUnknownCalls: { ...flag, default: false, env: true },
  /**
   * Whether the model reads the message of an error that a tool threw. If not, it is only told that the tool failed.
   * Default: false.
   */
  includeDetailedErrors: { ...flag, default: false, env: true },
  /**
   * How many milliseconds a tool call may take, besides the time that it waits for a human. After that it ends with an
   * error. Default: no limit.
   */
  toolTimeoutMs: { ...milliseconds, default: undefined, env: true },
} as const satisfies SettingsTable;

/*
 * Settings of a turn: its limits, its thread's limits, and how much of earlier turns the model sees.
 */

/** A limit that a run may lower. */
const limitFrom = (least: 0 | 1, preset: number) =>
  ({ ...countFrom(least), default: preset, env: true, perRun: true, lowerOnly: true }) as const;

export const TURN_SETTINGS = {
  /**
   * How many times the model may call tools in one turn. After that it is asked for a final response without tools.
   * Default: 40.
   */
  maxIterations: limitFrom(1, 40),
  /**
   * How many tool calls may run in one turn. A batch of calls that would exceed this limit is not run. Default: no
   * limit.
   */
  maxToolCalls: limitFrom(0, Number.POSITIVE_INFINITY),
  /**
   * How many tool calls may run in one thread. A batch of calls that would exceed this limit is not run. Default: no
   * limit.
   */
  maxToolCallsPerThread: limitFrom(0, Number.POSITIVE_INFINITY),
  /**
   * How many tokens the model may use in one turn, input and output together. After that it is asked for a final
   * response without tools. Default: no limit.
   */
  maxTokensPerTurn: limitFrom(1, Number.POSITIVE_INFINITY),
  /**
   * How many tokens the model may use in one thread, input and output together. After that it is asked for a final
   * response without tools, and in later turns it is not asked. Default: no limit.
   */
  maxTokensPerThread: limitFrom(1, Number.POSITIVE_INFINITY),
  /**
   * How many times in a row all tool calls of a response may fail. After that the model is asked for a final
   * response without tools. Default: 3.
   */
  maxConsecutiveErrors: limitFrom(1, 3),
  /**
   * How many tool calls of earlier turns the model is shown, with their results. As an object, `{ max, clearAtLeast }`:
   * once there are more than `max`, the oldest `clearAtLeast` are left out together, so that the provider's prompt
   * cache is lost less often. A run can choose a number. Default: all.
   */
  maxToolCallsFromHistory: {
    ...toolCallsToKeepRule,
    default: undefined,
    env: {
      read: readJson,
      expects: 'an integer of 0 or more, or JSON such as {"max":12,"clearAtLeast":6}',
    },
    // A number, because Studio's form has no field for a number or an object.
    perRun: countFrom(0),
  },
} as const satisfies SettingsTable;

/*
 * Settings of a graph's services: middleware, a checkpointer and a store.
 */

export const SERVICE_SETTINGS = {
  /** Middleware around runs, model calls and tool calls. The first one of a kind is the outermost. Default: none. */
  middleware: { ...aListOf<unknown>("middleware"), default: [] },
  /**
   * Where threads are saved. A LangGraph server brings its own, and without one a run remembers nothing. As a subgraph,
   * `true` gives the agent a memory of its own in each thread of its parent, and `false` saves nothing. Default: none.
   */
  checkpointer: {
    ...orFlag(objectWith<BaseCheckpointSaver>("getTuple", "a checkpointer, true or false")),
    default: undefined,
  },
  /**
   * How checkpoints store the messages. With `full`, each checkpoint holds all of them. With `delta`, it holds only
   * those that its step added, which writes far fewer bytes in a long thread. LangGraph calls its delta channel beta. A
   * thread can switch between the two. Default: `full`.
   */
  messagesChannel: { ...oneOf(["full", "delta"]), default: "full", env: true },
  /**
   * What happens when a run starts while another run of the same thread is running in this process. With `enqueue` it
   * waits for that run to end. With `reject` it fails with `THREAD_BUSY`. A lock, such as `postgresThreadLock(pool)`,
   * makes the runs of several processes wait for one another. Default: `enqueue`.
   */
  concurrentRuns: {
    schema: z.union([
      z.enum(["enqueue", "reject"]),
      objectWith<ThreadLock>("acquire", "a lock of threads").schema,
    ]),
    expects: "`enqueue`, `reject` or a lock of threads with the function `acquire`",
    default: "enqueue",
  },
  /**
   * Whether a run picks up messages sent to its thread while it is running. The inbox is in the store. Each model
   * request reads it once, and so does the end of a turn. Default: true.
   */
  steering: { ...flag, default: true, env: true },
  /**
   * The names of the settings that a run may choose in its `context`. Leave out `systemPrompt` to lock it. Default: all
   * that are marked "per run".
   */
  allowedSettings: {
    schema: z.array(z.string()).readonly(),
    expects: "a list of names of settings",
    default: undefined,
    env: { read: readNames, expects: "names of settings separated by commas" },
  },
  /**
   * The function that is called with each tool call that a run closes with a placeholder, and where that is: its thread,
   * run and checkpoint. Its errors are ignored. Default: none.
   */
  onRepair: { ...aFunction<OnRepair>(), default: undefined },
  /** The long-term memory that tools may use. A LangGraph server brings its own. Default: none. */
  store: { ...objectWith<BaseStore>("search", "a store"), default: undefined },
} as const satisfies SettingsTable;

/*
 * Settings of the agent itself: its name, and the own keys of its state and context.
 */

const isStateSchema = (value: unknown) => isInteropZodObject(value) || StateSchema.isInstance(value);

export const SCHEMA_SETTINGS = {
  /**
   * The name of the agent: of its graph, and of each response as `message.name`. A supervisor or a swarm needs it.
   * Default: none.
   */
  name: {
    schema: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
    expects: "a string of 1 to 64 letters, digits, `_` and `-`",
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
    default: undefined,
  },
} as const satisfies SettingsTable;
