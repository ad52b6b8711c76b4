/** Which tool calls wait for a human's approval. */

import { z } from "zod";
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

/**
 * The names of the tools whose calls need a human's approval, or a predicate that decides for each tool call.
 *
 * Contract of the predicate: it has no side effects, because it can be called several times for one tool call. An error
 * that it throws ends the run before a tool is called. A value that is not a boolean does the same.
 */
export type RequireApproval = readonly string[] | ((call: ApprovalCall) => boolean | Promise<boolean>);

export const requireApprovalRule = {
  schema: z.custom<RequireApproval>((value) => isListOfNames(value) || typeof value === "function"),
  expects: "a list of tool names, or a function (call) => boolean",
} satisfies Rule;

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}
