/** A run's `context`: the settings that a run can choose, and its user's own keys. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { getInteropZodObjectShape } from "@langchain/core/utils/types";
import { z } from "zod/v4";
import { InvalidSettingError } from "../../errors.js";
import { checkSettings, type Rule, type Setting } from "../../shared/check-settings.js";
import { didYouMean } from "../../shared/text.js";
import { madeOnce, pickFields } from "../../shared/values.js";
import { describedBy, jsonSchemaOf, type OwnContextSchema, placeIn } from "../../threads/own-state.js";
import { readWith } from "../../threads/schema.js";
import { warnOnce } from "../../threads/warn-once.js";
import { RUN_HELP } from "./run-help.js";
import { type RunSchemas, type RunSettings, SETTINGS, type Settings } from "./settings.js";

/** A run's `context`: settings for this run only. A missing setting has the graph's value. */
export interface RunContext extends RunSettings {}

const RUN_RULES: Readonly<Record<string, Rule & Pick<Setting, "lowerOnly">>> = Object.fromEntries(
  Object.entries<Setting>(SETTINGS).flatMap(([name, row]) =>
    row.perRun === undefined ? [] : [[name, row.perRun === true ? row : { ...row, ...row.perRun }]],
  ),
);

/** The user's schema checks the own keys. */
const ANY_VALUE = { schema: z.any(), expects: "any value" } satisfies Rule;

type RunContextShape = { [Name in keyof RunSchemas]: z.ZodOptional<RunSchemas[Name]> };

/** All fields are optional and have no default, because LangGraph also checks the missing context of a run. */
export const runContextSchema = z.object(
  Object.fromEntries(
    Object.entries(RUN_HELP).map(([name, description]) => [
      name,
      RUN_RULES[name]?.schema.optional().meta({ title: titleOf(name), description }),
    ]),
  ) as RunContextShape,
);

/** `maxToolCalls` is shown as "Max tool calls". */
function titleOf(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * Reads and checks a run's `context`.
 *
 * @param graph The graph's settings, whose limits a run can only lower.
 * @param ownKeys The keys of `contextSchema`. They are not checked here, and not in the result.
 * @param ignoresUnknown Whether unknown names are ignored instead of refused.
 * @throws InvalidSettingError for an unknown or forbidden name, a value that the setting does not accept, or a raised
 * limit.
 */
export function readRunContext(
  context: unknown,
  graph: Settings,
  ownKeys: readonly string[],
  ignoresUnknown: boolean,
): RunContext {
  if (context === undefined || context === null) return {};
  const isAllowed = (name: string) => graph.allowedSettings?.includes(name) ?? true;
  const given = ignoresUnknown
    ? pickFields(context, (name) => isRunSetting(name) && isAllowed(name))
    : context;
  const own = Object.fromEntries(ownKeys.map((key) => [key, ANY_VALUE]));
  checkSettings(given, { ...RUN_RULES, ...own }, "context");
  const chosen = pickFields(given, isRunSetting);
  for (const [name, value] of Object.entries(chosen)) {
    if (value === undefined) continue;
    if (!isAllowed(name))
      throw new InvalidSettingError(
        name,
        `This graph does not let a run choose \`${name}\`. Leave it out of the \`context\`.`,
      );
    const most: unknown = Reflect.get(graph, name);
    if (RUN_RULES[name]?.lowerOnly && Number(value) > Number(most))
      throw InvalidSettingError.expected(name, `at most ${most}, the limit of this graph`, value);
  }
  return chosen;
}

/** Warns about settings that a run gets where it does not read them. */
export function warnOfMisplaced(options: RunnableConfig, { model }: Settings): void {
  const { context } = options as { context?: unknown };
  for (const [place, given] of [
    ["`configurable`", options.configurable],
    ["the options", options],
  ] as const)
    for (const name of Object.keys(given ?? {})) {
      // A LangChain model can read `configurable` itself.
      const isRead = !isRunSetting(name) || (name === "model" && typeof model !== "string");
      if (isRead || Object.hasOwn(Object(context), name)) continue;
      warnOnce(`\`${name}\` in ${place} of a run is not read. Put it into the \`context\` of the run.`);
    }
}

/**
 * A run's settings: its context's, else the graph's. The model is not among them, because fallback models can replace
 * it.
 */
export function settingsInRun(settings: Settings, context: RunContext): Settings {
  // `messagesToKeep` and `tokensToKeep` exclude each other, so both come from the same source.
  const { messagesToKeep, tokensToKeep } = context;
  const isChosen = (name: string, value: unknown) =>
    value !== undefined && name !== "model" && isRunSetting(name);
  return {
    ...settings,
    ...(messagesToKeep !== undefined && { tokensToKeep }),
    ...pickFields(context, isChosen),
  };
}

export function withoutSettings(context: object): Record<string, unknown> {
  return pickFields(context, (name) => !isRunSetting(name));
}

function isRunSetting(name: string): boolean {
  return Object.hasOwn(RUN_RULES, name);
}

/**
 * @param setting The option or variable with the names.
 * @throws InvalidSettingError for a name that is not a setting of a run.
 */
export function checkAllowedSettings(
  names: readonly string[] | undefined,
  setting = "allowedSettings",
): void {
  for (const name of names ?? [])
    if (!isRunSetting(name)) {
      const expected = `names of settings that a run can choose (${Object.keys(RUN_RULES).join(", ")})`;
      throw InvalidSettingError.expected(setting, expected, name, didYouMean(name, Object.keys(RUN_RULES)));
    }
}

/*
 * The own keys that a user adds to a run's `context`.
 */

type OwnContextValues = Readonly<Record<string, unknown>>;

export interface OwnContext {
  readonly keys: readonly string[];
  /** The complete context's schema, for clients. It does not check the own keys, because `read` does. */
  readonly graphSchema: typeof runContextSchema;
  /**
   * Contract: reads a context's own keys, with the defaults of the user's schema.
   *
   * @throws InvalidSettingError for a value that does not match the schema.
   */
  readonly read: (context: unknown) => Promise<OwnContextValues>;
}

/** Stands for the missing schema of a graph without own keys. */
const NO_KEYS: OwnContextSchema = z.object({});

/** LangGraph keeps what it knows about a schema, and a server makes a graph for each run from the same schema. */
const known = new WeakMap<object, Map<string, OwnContext>>();

/** @throws InvalidSettingError for a key that is a run setting. */
export function readContextSchema(schema: OwnContextSchema = NO_KEYS, settings: Settings): OwnContext {
  const contexts = madeOnce(known, schema, () => new Map<string, OwnContext>());
  const form = formOf(settings);
  return madeOnce(contexts, JSON.stringify(form), () => makeOwnContext(schema, form));
}

type Form = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What a form shows of this graph's settings. The system prompt concerns only the operator. */
function formOf(settings: Settings): Form {
  const names = [settings.model, ...settings.models].filter((model) => typeof model === "string");
  return Object.fromEntries(
    Object.keys(runContextSchema.shape).map((name) => {
      const value: unknown = Reflect.get(settings, name);
      const isPlain = typeof value === "string" ? name !== "systemPrompt" : Number.isFinite(value);
      return [
        name,
        {
          ...(isPlain && { default: value }),
          ...(name === "model" && names.length > 0 && { enum: names }),
          // Without a limit zod writes the largest integer.
          maximum: RUN_RULES[name]?.lowerOnly && isPlain ? value : undefined,
        },
      ];
    }),
  );
}

function makeOwnContext(schema: OwnContextSchema, form: Form): OwnContext {
  const shape: Record<string, unknown> = getInteropZodObjectShape(schema);
  const keys = Object.keys(shape);
  const clash = keys.find((key) => Object.hasOwn(runContextSchema.shape, key));
  if (clash !== undefined)
    throw new InvalidSettingError(
      "contextSchema",
      `Expected \`contextSchema\` to have keys of its own, got \`${clash}\`, which is a setting of a run.`,
    );
  // Optional, because LangGraph also checks the missing context of a run.
  const fields = keys.map((key) => [key, describedBy(jsonSchemaOf(shape[key])).optional()] as const);
  const settings = Object.entries(runContextSchema.shape).map(([name, field]) => [
    name,
    field.meta(form[name] ?? {}),
  ]);
  return {
    keys,
    graphSchema: z.object({
      ...(Object.fromEntries(settings) as RunContextShape),
      ...Object.fromEntries(fields),
    }),
    read: async (context) => {
      const outcome = await readWith(
        schema,
        pickFields(Object(context), (name) => keys.includes(name)),
      );
      if (outcome.kind === "value") return Object(outcome.value);
      const [issue] = outcome.issues;
      const place = placeIn("context", issue);
      throw new InvalidSettingError(
        place,
        `Expected \`${place}\` to match \`contextSchema\`: ${issue.message}.`,
      );
    },
  };
}
