/** Which tool calls wait for a human's approval, and how the human is asked. */

import type { BaseMessage, ToolCall } from "@langchain/core/messages";
import type { Runtime } from "@langchain/langgraph";
import { z } from "zod/v4";
import { isPlainObject } from "../shared/is-plain-object.js";
import type { Rule } from "./rule.js";

/** A tool call as a predicate sees it. */
export interface ApprovalCall {
  /** The id that the provider set. */
  readonly id: string;
  /** The tool's name. */
  readonly name: string;
  /** The parsed arguments. They are not yet checked with the tool's schema. */
  readonly args: Readonly<Record<string, unknown>>;
}

export const DECISION_TYPES = ["approve", "edit", "reject", "respond"] as const;

/** What a human can decide about a tool call. */
export type DecisionType = (typeof DECISION_TYPES)[number];

/** The state of the thread, as the functions of `ApprovalOptions` see it. */
export interface ApprovalState {
  /** The history. Its last message has the tool call. */
  messages: BaseMessage[];
  [key: string]: unknown;
}

/** The run, as the functions of `ApprovalOptions` see it: its `context`, `store`, `writer`, `signal` and `configurable`. */
export interface ApprovalRuntime extends Partial<Pick<Runtime, "store" | "writer" | "signal">> {
  /** The context of the run. */
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
 * How a human is asked about the calls of one tool. The fields are those of LangChain's `InterruptOnConfig`.
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
 * - an object with `true`, `false` or `ApprovalOptions` for each tool, as LangChain's `interruptOn`.
 *
 * Contract of the predicate: it has no side effects, because it can be called several times for one tool call. An error
 * that it throws ends the run before a tool is called. A value that is not a boolean does the same.
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

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}
