/** Whether the model may, must or must not call a tool. */

import { z } from "zod";
import { InvalidSettingError } from "../errors.js";
import type { Rule } from "./rule.js";

const requiredSchema = z.strictObject({
  mode: z.literal("required"),
  /** The tool that must be called. Left out: any. */
  requiredFunctionName: z.string().min(1).optional(),
  /** `"end"`: the run ends with the results. `"answer"`: the model answers with a text. @default "end" */
  afterRequired: z.enum(["end", "answer"]).optional(),
});

const toolChoiceSchema = z.union([z.enum(["auto", "none", "required"]), requiredSchema]);

/**
 * Whether the model may, must or must not call a tool.
 *
 * - `"auto"`: the model decides.
 * - `"none"`: it calls no tool. A call that it makes anyway is removed.
 * - `"required"`: it calls a tool, and the run ends with the results. As an object it names the tool, and says what is
 *   done with the results.
 */
export type ToolChoice = z.infer<typeof toolChoiceSchema>;

export const toolChoiceRule = {
  schema: toolChoiceSchema,
  expectation:
    'auto, none, required or { mode: "required", requiredFunctionName?: string, afterRequired?: "end" | "answer" }',
} satisfies Rule;

/** The tool that a choice names; undefined if it names none. */
export function requiredFunctionOf(choice: ToolChoice): string | undefined {
  return typeof choice === "object" ? choice.requiredFunctionName : undefined;
}

/** What follows when the calls that a choice requires have their results; undefined if it requires none. */
export function afterRequired(choice: ToolChoice): "end" | "answer" | undefined {
  if (typeof choice === "object") return choice.afterRequired ?? "end";
  return choice === "required" ? "end" : undefined;
}

/** @throws InvalidSettingError for what is no choice, or one that requires what no tool is there for. */
export function readToolChoice(given: unknown, toolNames: readonly string[]): ToolChoice {
  const { success, data: choice } = toolChoiceSchema.safeParse(given);
  if (!success) throw InvalidSettingError.expected("toolChoice", toolChoiceRule.expectation, given);
  if (afterRequired(choice) === undefined) return choice;
  const name = requiredFunctionOf(choice);
  const isKnown = name === undefined ? toolNames.length > 0 : toolNames.includes(name);
  if (isKnown) return choice;
  const known = toolNames.length > 0 ? `The tools are: ${toolNames.join(", ")}.` : "This graph has no tool.";
  const wanted = name === undefined ? "`toolChoice` requires a call" : `\`toolChoice\` requires \`${name}\``;
  throw new InvalidSettingError("toolChoice", `${wanted}, and there is no such tool. ${known}`);
}
