/** Which tool calls wait for a human's approval. */

import { z } from "zod";
import type { Rule } from "./rule.js";

/** A tool call as a predicate sees it. */
export interface ApprovalCall {
  readonly id: string;
  readonly name: string;
  /** Parsed, but not yet checked with the tool's schema. */
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * Names of tools whose calls need a human's approval, or a predicate on a tool call.
 *
 * Contract of the predicate: has no effects; may be called several times for one tool call. What it throws ends the
 * run before a tool is called, and so does a value that is not a boolean.
 */
export type RequireApproval = readonly string[] | ((call: ApprovalCall) => boolean | Promise<boolean>);

export const requireApprovalRule = {
  schema: z.custom<RequireApproval>((value) => isListOfNames(value) || typeof value === "function"),
  expects: "a list of tool names, or a function (call) => boolean",
} satisfies Rule;

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}
