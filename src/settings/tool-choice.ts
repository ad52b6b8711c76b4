/** Whether the model may, must or must not call a tool. */

import { z } from "zod/v4";
import { InvalidSettingError } from "../errors.js";
import type { Rule } from "./rule.js";

const requiredSchema = z.strictObject({
  mode: z.literal("required"),
  /** The tool that must be called. @default any tool */
  requiredFunctionName: z.string().min(1).optional(),
  /** `"end"` ends the run with the results. `"answer"` lets the model respond with a text. @default "end" */
  afterRequired: z.enum(["end", "answer"]).optional(),
});

const toolChoiceSchema = z.union([z.enum(["auto", "none", "required"]), requiredSchema]);

/**
 * Whether the model may, must or must not call a tool.
 *
 * - `"auto"`: the model decides.
 * - `"none"`: the model calls no tool. A call that it makes anyway is removed.
 * - `"required"`: the model must call a tool, and the run ends with the results. An object can name the tool
 *   and choose what follows its results.
 */
export type ToolChoice = z.infer<typeof toolChoiceSchema>;

export const toolChoiceRule = {
  schema: toolChoiceSchema,
  expects:
    'auto, none, required or { mode: "required", requiredFunctionName?: string, afterRequired?: "end" | "answer" }',
} satisfies Rule;

/** The name of the tool that a choice requires; undefined if it names none. */
export function requiredFunctionOf(choice: ToolChoice): string | undefined {
  return typeof choice === "object" ? choice.requiredFunctionName : undefined;
}

/** What follows the results of a required call; undefined if the choice requires no call. */
export function afterRequired(choice: ToolChoice): "end" | "answer" | undefined {
  if (typeof choice === "object") return choice.afterRequired ?? "end";
  return choice === "required" ? "end" : undefined;
}

/**
 * Checks a choice.
 *
 * @param toolNames The names of all tools that the model can call.
 * @throws InvalidSettingError for an invalid choice, or for a choice that requires a tool that does not exist.
 */
export function readToolChoice(given: unknown, toolNames: readonly string[]): ToolChoice {
  const { success, data: choice } = toolChoiceSchema.safeParse(given);
  if (!success) throw InvalidSettingError.expected("toolChoice", toolChoiceRule.expects, given);
  if (afterRequired(choice) === undefined) return choice;
  const name = requiredFunctionOf(choice);
  const isKnown = name === undefined ? toolNames.length > 0 : toolNames.includes(name);
  if (isKnown) return choice;
  const known = toolNames.length > 0 ? `The tools are: ${toolNames.join(", ")}.` : "This graph has no tool.";
  const wanted = name === undefined ? "`toolChoice` requires a call" : `\`toolChoice\` requires \`${name}\``;
  throw new InvalidSettingError("toolChoice", `${wanted}, but there is no such tool. ${known}`);
}
