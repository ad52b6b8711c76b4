/** Which tool calls wait for a human's approval, and how the human is asked. */

import type { AIMessage, BaseMessage, ToolCall } from "@langchain/core/messages";
import { type JSONSchema, toJsonSchema } from "@langchain/core/utils/json_schema";
import { isInteropZodSchema } from "@langchain/core/utils/types";
import type { LangGraphRunnableConfig, Runtime } from "@langchain/langgraph";
import { z } from "zod/v4";
import { InvalidSettingError } from "../../errors.js";
import { aFunction, checkSettings, type Rule, type Rules } from "../../shared/check-settings.js";
import { didYouMean } from "../../shared/text.js";
import { defined, isPlainObject, pickFields } from "../../shared/values.js";
import type { ToolTask } from "../../threads/langgraph/read-checkpoints.js";
import { type AgentState, isPrivateChannel } from "../../threads/state.js";

/** A tool call as a predicate sees it. */
export interface ApprovalCall {
  /** The id that the provider set. */
  readonly id: string;
  /** The tool's name. */
  readonly name: string;
  /** The parsed arguments, before the tool's schema checks them. */
  readonly args: Readonly<Record<string, unknown>>;
}

export const DECISION_TYPES = ["approve", "edit", "reject", "respond"] as const;

/** What a human can decide about a tool call. */
export type DecisionType = (typeof DECISION_TYPES)[number];

/** The thread's state, as the functions of `ApprovalOptions` see it. */
export interface ApprovalState {
  /** The history. Its last message has the tool call. */
  messages: BaseMessage[];
  [key: string]: unknown;
}

/** The run, as the functions of `ApprovalOptions` see it: its `context`, `store`, `writer`, `signal` and `configurable`. */
export interface ApprovalRuntime extends Partial<Pick<Runtime, "store" | "writer" | "signal">> {
  readonly context?: unknown;
  /** Settings of LangGraph for this run, such as `thread_id`. */
  configurable?: { thread_id?: string; [key: string]: unknown };
}

/** What `when` decides about. It has the fields of LangChain's `ToolCallRequest`. */
export interface ApprovalCandidate {
  readonly toolCall: ToolCall;
  /** Always undefined, as in LangChain. */
  tool: undefined;
  readonly state: ApprovalState;
  readonly runtime: ApprovalRuntime;
}

/**
 * How a human is asked about one tool's calls. The fields are those of LangChain's `InterruptOnConfig`.
 *
 * Contract of the functions: they have no side effects. An error that they throw ends the run before a tool is called.
 */
export interface ApprovalOptions {
  /** What the human can decide. Must not be empty. @default all four */
  readonly allowedDecisions?: readonly DecisionType[] | undefined;
  /** The text that the human reads, or a function that returns it. @default a sentence with the tool's name */
  readonly description?:
    | string
    | ((toolCall: ToolCall, state: ApprovalState, runtime: ApprovalRuntime) => string | Promise<string>)
    | undefined;
  /**
   * A JSON schema or a zod schema that edited arguments must match, in addition to the tool's schema. The request
   * contains it as a JSON schema. @default none
   */
  readonly argsSchema?: object | undefined;
  /** Whether this call needs a human. Calls for which it returns false run at once. @default every call */
  readonly when?: ((request: ApprovalCandidate) => boolean | Promise<boolean>) | undefined;
}

/**
 * The tool calls that need a human's approval:
 *
 * - the names of their tools,
 * - a predicate that decides for each tool call, or
 * - an object with `true`, `false` or `ApprovalOptions` for each tool, like LangChain's `interruptOn`.
 *
 * Contract of the predicate: it has no side effects, because it can be called several times for one tool call. An error
 * that it throws, or a value that is not a boolean, ends the run before a tool is called.
 */
export type RequireApproval =
  | readonly string[]
  | ((call: ApprovalCall) => boolean | Promise<boolean>)
  | { readonly [tool: string]: boolean | ApprovalOptions };

export const requireApprovalRule = {
  schema: z.custom<RequireApproval>(
    (value) => isListOfNames(value) || typeof value === "function" || isPlainObject(value),
  ),
  expects:
    "a list of tool names, a function (call) => boolean, or an object with true, false or options for each tool",
} satisfies Rule;

function isListOfNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

/** How a human is asked about one tool's calls. */
export interface ApprovalRule extends Omit<ApprovalOptions, "allowedDecisions"> {
  readonly allowedDecisions: readonly DecisionType[];
  /** `argsSchema` as a JSON schema, which the request contains. */
  readonly argsJsonSchema?: JSONSchema | undefined;
}

export const ANY_DECISION: ApprovalRule = { allowedDecisions: DECISION_TYPES };

const OPTION_RULES = {
  allowedDecisions: {
    schema: z.array(z.enum(DECISION_TYPES)).min(1),
    expects: "a list with one or more of approve, edit, reject and respond",
  },
  description: {
    schema: z.custom((value) => typeof value === "string" || typeof value === "function"),
    expects: "a string, or a function (toolCall, state, runtime) => string",
  },
  argsSchema: {
    schema: z.custom((value) => isInteropZodSchema(value) || isPlainObject(value)),
    expects: "a JSON schema or a zod schema",
  },
  when: { ...aFunction(), expects: "a function ({ toolCall, state, runtime }) => boolean" },
} as const satisfies Rules;

/**
 * The rules of a list of names or an object, by tool name. Calls of other tools need no human.
 *
 * @param toolNames The tools whose calls the graph runs.
 * @throws InvalidSettingError for a tool that does not exist, an unknown option, or a value that an option does not
 * take. The error names the tool and the option.
 */
function readRules(
  given: Exclude<RequireApproval, (...given: never[]) => unknown>,
  toolNames: readonly string[],
): ReadonlyMap<string, ApprovalRule> {
  const entries = isListOfNames(given) ? given.map((name) => [name, true] as const) : Object.entries(given);
  const rules = new Map<string, ApprovalRule>();
  for (const [name, options] of entries) {
    if (!toolNames.includes(name)) {
      const expectation = `names of tools (${toolNames.join(", ") || "there are none"})`;
      throw InvalidSettingError.expected("requireApproval", expectation, name, didYouMean(name, toolNames));
    }
    if (options !== false) rules.set(name, readRule(`requireApproval.${name}`, options));
  }
  return rules;
}

function readRule(place: string, options: unknown): ApprovalRule {
  if (options === true) return ANY_DECISION;
  if (!isPlainObject(options)) {
    const names = Object.keys(OPTION_RULES).join(", ");
    throw InvalidSettingError.expected(place, `true, false or an object with options (${names})`, options);
  }
  checkSettings(options, OPTION_RULES, place, `${place}.`);
  const { allowedDecisions = DECISION_TYPES, argsSchema, ...others } = options as ApprovalOptions;
  const argsJsonSchema = argsSchema && readJsonSchema(`${place}.argsSchema`, argsSchema);
  return { ...others, allowedDecisions, argsSchema, argsJsonSchema };
}

/** A schema with transforms or functions cannot be sent to a client. */
function readJsonSchema(place: string, schema: object): JSONSchema {
  try {
    const converted: unknown = isInteropZodSchema(schema) ? toJsonSchema(schema) : schema;
    // A copy that is surely JSON, because checkpoints store the request.
    return JSON.parse(JSON.stringify(converted)) as JSONSchema;
  } catch {
    throw InvalidSettingError.expected(place, "a schema that can be written as a JSON schema", schema);
  }
}

/*
 * Decides who runs a tool call: its tool at once, its tool after approval, or the run's caller.
 */

/** The moment at which a call is decided. It is made only for rules with functions. */
export interface ApprovalScene {
  readonly state: ApprovalState;
  readonly runtime: ApprovalRuntime;
}

/** A call that a human is asked about. */
export interface AskedTask extends ToolTask {
  /** What the human reads. Undefined: a sentence with the tool's name. */
  readonly description?: string | undefined;
}

export type CallPolicy = ReturnType<typeof createCallPolicy>;

interface CallPolicyOptions {
  readonly autoInvoke: boolean;
  readonly toolNames: readonly string[];
  /** Names of tools that are declared to the model but run by the caller. */
  readonly additionalNames: readonly string[];
  readonly requireApproval: RequireApproval;
}

/** @throws InvalidSettingError if a tool that needs approval does not exist, or its options are not valid. */
export function createCallPolicy({
  autoInvoke,
  toolNames,
  additionalNames,
  requireApproval,
}: CallPolicyOptions) {
  const handed = new Set(additionalNames);
  const predicate = typeof requireApproval === "function" ? requireApproval : undefined;
  const rules: ReadonlyMap<string, ApprovalRule> =
    typeof requireApproval === "function" ? new Map() : readRules(requireApproval, toolNames);
  return {
    /** Whether the run's caller must answer the call. */
    isHandedOver: ({ call }: Pick<ToolTask, "call">): boolean => !autoInvoke || handed.has(call.name),
    /** Whether any call can need a human. */
    asksHumans: predicate !== undefined || rules.size > 0,
    /** How a human is asked about a tool. An earlier question can be about a tool whose calls need no human now. */
    ruleFor: (toolName: string): ApprovalRule => rules.get(toolName) ?? ANY_DECISION,
    /**
     * The question about a call that needs a human; undefined for a call that runs at once.
     *
     * @param mayBeServed Whether function middleware can answer calls of tools that the graph does not have.
     */
    questionFor: async (
      task: ToolTask,
      scene: () => ApprovalScene,
      mayBeServed: boolean,
    ): Promise<AskedTask | undefined> => {
      const { call, args, offered } = task;
      const { id, name } = call;
      const canRun = mayBeServed || (toolNames.includes(name) && offered === undefined);
      // A call that cannot run needs no approval. Its result says what is wrong with it.
      if (args === undefined || !canRun) return undefined;
      const shown = () => ({ id, name, args: structuredClone(args) });
      if (predicate !== undefined)
        return decided("requireApproval", await predicate(shown())) ? task : undefined;
      const rule = rules.get(name);
      return rule && askByRule(rule, task, () => ({ type: "tool_call", ...shown() }), scene);
    },
  };
}

async function askByRule(
  { when, description }: ApprovalRule,
  task: ToolTask,
  toolCall: () => ToolCall,
  scene: () => ApprovalScene,
): Promise<AskedTask | undefined> {
  const place = `requireApproval.${task.call.name}`;
  if (when !== undefined) {
    const answer = await when({ toolCall: toolCall(), tool: undefined, ...scene() });
    if (!decided(`${place}.when`, answer)) return undefined;
  }
  if (description === undefined) return task;
  if (typeof description === "string") return { ...task, description };
  const { state, runtime } = scene();
  const text: unknown = await description(toolCall(), state, runtime);
  if (typeof text === "string") return { ...task, description: text };
  throw InvalidSettingError.expected(`${place}.description`, "a function that returns a text", text);
}

/** A predicate that forgets to return a value must not let a call pass. */
function decided(place: string, answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  throw InvalidSettingError.expected(place, "a function that returns true or false", answer);
}

/** What an approval rule's functions see: the run, and the state with the response in it. */
export function approvalScene(
  state: AgentState,
  message: AIMessage,
  config: LangGraphRunnableConfig,
): ApprovalScene {
  const shown = pickFields(state, (name, value) => !isPrivateChannel(name, value));
  const { context, store, writer, signal, configurable } = config;
  return {
    state: { ...shown, messages: [...state.messages, message] },
    runtime: {
      context,
      ...defined({ store, writer, signal }),
      ...(configurable !== undefined && { configurable: pickFields(configurable, isPublic) }),
    },
  };
}

/** LangGraph keeps its own objects under names that begin with `__`, as does the run handle. */
const isPublic = (name: string): boolean => !name.startsWith("__");
