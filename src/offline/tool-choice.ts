/** Reads the `tool_choice` option, in the forms of the providers and of LangChain. */

import { z } from "zod/v4";
import { OfflineBadRequestError } from "./offline-bad-request-error.js";

export type ToolChoice =
  | { readonly kind: "auto" | "none" | "required" }
  | { readonly kind: "tool"; readonly name: string };

const KINDS: ReadonlyMap<string, "auto" | "none" | "required"> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["required", "required"],
  ["any", "required"],
]);

/** A word or the name of a tool. As an object: OpenAI's form, Anthropic's, or `{ type: "any" }`. */
const wordSchema = z.union([
  z.string(),
  z.object({ function: z.object({ name: z.string() }) }).transform((choice) => choice.function.name),
  z.object({ name: z.string() }).transform((choice) => choice.name),
  z.object({ type: z.string() }).transform((choice) => choice.type),
]);

/** @throws {OfflineBadRequestError} if the choice cannot be met with these tools. */
export function readToolChoice(value: unknown, toolNames: ReadonlySet<string>): ToolChoice {
  const word = wordSchema.safeParse(value ?? "auto").data;
  if (word === undefined) throw badChoice(`got ${JSON.stringify(value)}.`);
  const kind = KINDS.get(word);
  if (kind === "required" && toolNames.size === 0) {
    throw badChoice("'tool_choice' is only allowed when 'tools' are specified.");
  }
  if (kind !== undefined) return { kind };
  if (!toolNames.has(word)) throw badChoice(`tool '${word}' not found in 'tools'.`);
  return { kind: "tool", name: word };
}

function badChoice(reason: string): OfflineBadRequestError {
  return new OfflineBadRequestError(`Invalid value for 'tool_choice': ${reason}`, "tool_choice");
}
