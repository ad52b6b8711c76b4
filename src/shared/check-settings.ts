/** The rows of a settings table, and the check of what is given for them. */

import { z } from "zod/v4";
import { InvalidSettingError } from "../errors.js";
import { parseJson } from "./json.js";
import { didYouMean, listWithOr } from "./text.js";
import { hasMethods, isRecord } from "./values.js";

export interface Rule<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  /** Completes the sentence "Expected `name` to be …". */
  readonly expects: string;
  /** Contract: returns a space and a question about what the caller probably meant, or an empty text. */
  readonly hint?: (value: unknown) => string;
  /**
   * Contract: converts an environment variable's text. Never throws. Returns a text that it cannot convert unchanged,
   * and the schema refuses it.
   */
  readonly read?: (text: string) => unknown;
}

export type Rules = Readonly<Record<string, Rule>>;

/** The longest delay of a timer in Node, in milliseconds. A longer one would fire at once. */
const LONGEST_TIMEOUT = 2_147_483_647;

export const milliseconds = {
  schema: z.number().int().min(1).max(LONGEST_TIMEOUT),
  expects: `an integer from 1 to ${LONGEST_TIMEOUT}`,
  read: readNumber,
} satisfies Rule;

export const text = { schema: z.string(), expects: "a string", read: readText } satisfies Rule;
export const flag = { schema: z.boolean(), expects: "true or false", read: readFlag } satisfies Rule;

export function countFrom(least: number) {
  return {
    schema: z.number().int().min(least),
    expects: `an integer of ${least} or more`,
    read: readNumber,
  } satisfies Rule;
}

export function oneOf<const Names extends readonly [string, ...string[]]>(names: Names) {
  const rule = { schema: z.enum(names), expects: listWithOr(names), read: readText };
  return { ...rule, hint: hintAtName(names) } satisfies Rule;
}

/** The hint of a rule whose value is one of some names. */
export function hintAtName(names: readonly string[]) {
  return (value: unknown): string => (typeof value === "string" ? didYouMean(value, names) : "");
}

/** A list. Its entries are checked where they are used. */
export function aListOf<Entry>(what: string) {
  const isList = (value: unknown) => Array.isArray(value);
  return { schema: z.custom<readonly Entry[]>(isList), expects: `a list of ${what}` } satisfies Rule;
}

export function aFunction<Signature extends (...given: never[]) => unknown>() {
  const isFunction = (value: unknown) => typeof value === "function";
  return { schema: z.custom<Signature>(isFunction), expects: "a function" } satisfies Rule;
}

/** An object that is recognised by a method, because a process can have several copies of its class. */
export function objectWith<Type extends object>(method: string, expects: string) {
  return {
    schema: z.custom<Type>((value) => hasMethods(value, method)),
    expects,
    hint: hintAtClass,
  } satisfies Rule;
}

export const abortSignal = objectWith<AbortSignal>("throwIfAborted", "an AbortSignal");

/** The same rule, which also takes true and false. */
export function orFlag<Schema extends z.ZodType>(rule: Rule<Schema>) {
  return { ...rule, schema: z.union([rule.schema, z.boolean()]) } satisfies Rule;
}

/**
 * Checks settings with their rules. Undefined values pass.
 *
 * @param whole The settings object's name in errors.
 * @param place What precedes each setting's name in errors, such as `summary.`.
 * @param adviceOn What to do in place of a setting of another library that has no counterpart.
 * @throws InvalidSettingError for an unknown name, or a value that the setting does not accept.
 */
export function checkSettings(
  settings: unknown,
  rules: Rules,
  whole: string,
  place = "",
  adviceOn: (name: string) => string | undefined = () => undefined,
): void {
  if (!isRecord(settings)) throw InvalidSettingError.expected(whole, "an object", settings);
  for (const [name, value] of Object.entries(settings)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      throw unknownSetting(name, Object.keys(rules), place, adviceOn(name));
    }
    if (value !== undefined && !rule.schema.safeParse(value).success) {
      throw InvalidSettingError.expected(`${place}${name}`, rule.expects, value, rule.hint?.(value));
    }
  }
}

/** Options of LangGraph, LangChain and other agents, and this library's options with the same meaning. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["llm", "model"],
  ["prompt", "systemPrompt"],
  ["stateModifier", "systemPrompt"],
  ["messageModifier", "systemPrompt"],
  ["system", "systemPrompt"],
  ["systemMessage", "systemPrompt"],
  ["instructions", "systemPrompt"],
  ["checkpointSaver", "checkpointer"],
  ["memory", "checkpointer"],
  ["interruptOn", "requireApproval"],
  ["toolApproval", "requireApproval"],
  ["recursionLimit", "maxIterations"],
  ["maxSteps", "maxIterations"],
  ["maxTurns", "maxIterations"],
  ["stopWhen", "maxIterations"],
  ["responseModel", "responseFormat"],
  ["outputSchema", "responseFormat"],
  ["outputType", "responseFormat"],
  ["structuredOutput", "responseFormat"],
  ["output", "responseFormat"],
]);

function unknownSetting(
  name: string,
  known: readonly string[],
  place: string,
  advice: string | undefined,
): InvalidSettingError {
  const other = OTHER_NAMES.get(name);
  const kind = place === "" ? "setting" : "option";
  const question =
    other !== undefined && known.includes(other)
      ? ` Did you mean \`${other}\`?`
      : advice !== undefined
        ? ` ${advice}`
        : didYouMean(name, known) || ` Known ${kind}s are: ${known.join(", ")}.`;
  return new InvalidSettingError(`${place}${name}`, `Unknown ${kind} \`${place}${name}\`.${question}`);
}

/** The end of an error message for a class in place of its instance; an empty text for any other value. */
export function hintAtClass(value: unknown): string {
  return isClass(value) ? ` Did you mean \`new ${value.name}()\`?` : "";
}

/** The end of an error message for a promise in place of its value; an empty text for any other value. */
export function hintAtPromise(value: unknown): string {
  return hasMethods(value, "then") ? " Did you forget `await`?" : "";
}

/** Checks a value that must be given. @throws InvalidSettingError */
export function checkGiven(name: string, value: unknown, rule: Rule): void {
  if (!rule.schema.safeParse(value).success)
    throw InvalidSettingError.expected(name, rule.expects, value, rule.hint?.(value));
}

function isClass(value: unknown): value is { readonly name: string } {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}

/*
 * One row of the settings table: everything about one option of `createAgentGraph`. The row's comment says what the
 * option does, in plain sentences, and the last one states the default. Editors show it on hover, and the documents and
 * Studio's form have its text.
 */

export interface Setting<Schema extends z.ZodType = z.ZodType> extends Rule<Schema> {
  /** The value of an option that is left out; undefined if there is none, or if other settings or the model decide. */
  readonly default: unknown;
  /**
   * Whether an environment variable of the served graph sets it. If the variable has another form, `read` reads it, and
   * `expects` names it.
   */
  readonly env?: true | { readonly read: (text: string) => unknown; readonly expects?: string };
  /** Whether a run can choose it in its `context`. A rule instead of `true` limits the values that a run can choose. */
  readonly perRun?: true | Rule;
  /** Whether a run can lower it, but not raise it. Only for numbers. */
  readonly lowerOnly?: true;
  /** Whether it must be set. */
  readonly required?: true;
}

export type SettingsTable = Readonly<Record<string, Setting>>;

export type ValueOf<Row extends Setting> = z.output<Row["schema"]>;

/** A row's value in the settings. A row that was left out has its default. */
export type ValueIn<Row extends Setting> = Row extends { readonly required: true }
  ? ValueOf<Row>
  : Row["default"] extends undefined
    ? ValueOf<Row> | undefined
    : ValueOf<Row>;

/** The values of all rows. A row that is left out or undefined has its default. */
export function withDefaults(given: object, table: SettingsTable): Record<string, unknown> {
  const values = new Map<string, unknown>(Object.entries(given));
  const all = Object.entries(table).map(([name, row]) => [name, values.get(name) ?? row.default]);
  return Object.fromEntries(all);
}

/*
 * The environment variables of the settings.
 */

/** `MAX_ITERATIONS` for `maxIterations`. */
export function variableOf(setting: string): string {
  return setting.replace(/[A-Z]/g, "_$&").toUpperCase();
}

/** The rule for the text of the variable. */
export function inEnvironment(row: Setting): Rule {
  return row.env === true ? row : { ...row, ...row.env };
}

/**
 * A variable's value; undefined if it is empty or not set.
 *
 * @throws InvalidSettingError for an invalid value. A key or a secret is any text, so it is never refused and never
 * quoted.
 */
export function readVariable(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
  { schema, expects, read = readText, hint }: Rule,
): unknown {
  const given = environment[name]?.trim();
  if (given === undefined || given === "") return undefined;
  const value = read(given);
  const { success, data } = schema.safeParse(value);
  if (!success) throw InvalidSettingError.expected(name, expects, given, hint?.(value));
  return data;
}

const flagSchema = z.stringbool();

export function readText(text: string): string {
  return text;
}

function readNumber(text: string): number {
  return Number(text);
}

/** A text that is not JSON stays a text. */
export function readJson(text: string): unknown {
  return parseJson(text) ?? text;
}

function readFlag(text: string): boolean | string {
  return flagSchema.safeParse(text).data ?? text;
}

/** Reads names separated by commas. */
export function readNames(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
