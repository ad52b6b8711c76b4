/** Rules for the values of settings, and the check that applies them. */

import { z } from "zod/v4";
import { InvalidSettingError } from "../errors.js";
import { didYouMean } from "../shared/did-you-mean.js";
import { listWithOr } from "../shared/list-with-or.js";
import { hintAtClass } from "./hint-at-class.js";

export interface Rule<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  /** Completes the sentence "Expected `name` to be …". */
  readonly expects: string;
  /** Contract: returns a space and a question about what the caller probably meant, or an empty text. */
  readonly hint?: (value: unknown) => string;
}

export type Rules = Readonly<Record<string, Rule>>;

/** The longest delay of a timer in Node, in milliseconds. A longer one would fire at once. */
const LONGEST_TIMEOUT = 2_147_483_647;

export const milliseconds = {
  schema: z.number().int().min(1).max(LONGEST_TIMEOUT),
  expects: `an integer from 1 to ${LONGEST_TIMEOUT}`,
} satisfies Rule;

export const text = { schema: z.string(), expects: "a string" } satisfies Rule;
export const flag = { schema: z.boolean(), expects: "true or false" } satisfies Rule;

export function countFrom(least: number) {
  return {
    schema: z.number().int().min(least),
    expects: `an integer of ${least} or more`,
  } satisfies Rule;
}

export function oneOf<const Names extends readonly [string, ...string[]]>(names: Names) {
  return { schema: z.enum(names), expects: listWithOr(names) } satisfies Rule;
}

/** A list. Its entries are checked where they are used. */
export function listOf<Entry>(what: string) {
  const isList = (value: unknown) => Array.isArray(value);
  return { schema: z.custom<readonly Entry[]>(isList), expects: `a list of ${what}` } satisfies Rule;
}

export function aFunction<Signature extends (...given: never[]) => unknown>() {
  const isFunction = (value: unknown) => typeof value === "function";
  return { schema: z.custom<Signature>(isFunction), expects: "a function" } satisfies Rule;
}

/** An object that is recognised by a method, because a process can have several copies of its class. */
export function objectWith<Type extends object>(method: string, expects: string) {
  const hasMethod = (value: unknown) =>
    typeof value === "object" && value !== null && typeof Reflect.get(value, method) === "function";
  return { schema: z.custom<Type>(hasMethod), expects, hint: hintAtClass } satisfies Rule;
}

/** The same rule, which also takes true and false. */
export function orFlag<Schema extends z.ZodType>(rule: Rule<Schema>) {
  return { ...rule, schema: z.union([rule.schema, z.boolean()]) } satisfies Rule;
}

/**
 * Checks settings with their rules. Undefined values pass.
 *
 * @param whole The name of the settings object in errors.
 * @throws InvalidSettingError for an unknown name, or a value that the setting does not take.
 */
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
      throw InvalidSettingError.expected(name, rule.expects, value, rule.hint?.(value));
    }
  }
}

/** Options of LangChain and LangGraph, and the options of this library with the same meaning. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["llm", "model"],
  ["prompt", "systemPrompt"],
  ["stateModifier", "systemPrompt"],
  ["messageModifier", "systemPrompt"],
  ["checkpointSaver", "checkpointer"],
  ["interruptOn", "requireApproval"],
  ["recursionLimit", "maxIterations"],
]);

function unknownSetting(name: string, known: readonly string[]): InvalidSettingError {
  const other = OTHER_NAMES.get(name);
  const question =
    other !== undefined && known.includes(other)
      ? ` Did you mean \`${other}\`?`
      : didYouMean(name, known) || ` Known settings are: ${known.join(", ")}.`;
  return new InvalidSettingError(name, `Unknown setting \`${name}\`.${question}`);
}
