/** What a setting must be, and the check that says so. */

import { z } from "zod";
import { InvalidSettingError } from "../errors.js";
import { didYouMean } from "../shared/did-you-mean.js";
import { hintAtClass } from "./hint-at-class.js";

export interface Rule<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  /** Completes the sentence "Expected `name` to be …". */
  readonly expectation: string;
  /** Contract: a sentence about what was probably meant, with a space before it, or none. */
  readonly hint?: (value: unknown) => string;
}

export type Rules = Readonly<Record<string, Rule>>;

/** The longest time that a timer of Node takes; a longer one would fire at once. */
export const LONGEST_TIMEOUT = 2_147_483_647;

export const milliseconds = {
  schema: z.number().int().min(1).max(LONGEST_TIMEOUT),
  expectation: `an integer from 1 to ${LONGEST_TIMEOUT}`,
} satisfies Rule;

export const text = { schema: z.string(), expectation: "a string" } satisfies Rule;
export const flag = { schema: z.boolean(), expectation: "true or false" } satisfies Rule;

export function countFrom(least: number) {
  return {
    schema: z.number().int().min(least),
    expectation: `an integer of ${least} or more`,
  } satisfies Rule;
}

export function oneOf<const Names extends readonly [string, ...string[]]>(names: Names) {
  return { schema: z.enum(names), expectation: `one of ${names.join(", ")}` } satisfies Rule;
}

/** An object of a class that may have several copies in one process, so known by a method. */
export function objectWith(method: string, expectation: string) {
  const hasMethod = (value: unknown) =>
    typeof value === "object" && value !== null && Reflect.get(value, method) instanceof Function;
  return { schema: z.custom(hasMethod), expectation, hint: hintAtClass } satisfies Rule;
}

/** @throws InvalidSettingError for an unknown name or a value that the setting does not take. */
export function checkSettings(settings: unknown, rules: Rules, whole: string): void {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    throw InvalidSettingError.expected(whole, "an object", settings);
  }
  for (const [name, value] of Object.entries(settings)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      throw unknownSetting(name, Object.keys(rules));
    }
    if (value !== undefined && !rule.schema.safeParse(value).success) {
      throw InvalidSettingError.expected(name, rule.expectation, value, rule.hint?.(value));
    }
  }
}

/** What agents of LangChain and LangGraph call a setting of ours that means the same. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["llm", "model"],
  ["prompt", "systemPrompt"],
  ["stateModifier", "systemPrompt"],
  ["messageModifier", "systemPrompt"],
  ["checkpointSaver", "checkpointer"],
  ["interruptOn", "requireApproval"],
]);

function unknownSetting(name: string, known: readonly string[]): InvalidSettingError {
  const other = OTHER_NAMES.get(name);
  const question =
    other !== undefined && known.includes(other)
      ? ` Did you mean \`${other}\`?`
      : didYouMean(name, known) || ` Known settings are: ${known.join(", ")}.`;
  return new InvalidSettingError(name, `Unknown setting \`${name}\`.${question}`);
}
