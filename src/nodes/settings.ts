/**
 * Settings of an agent: those fixed when it is built, and those that a run may choose in its `context`. One table
 * says for each what it must be.
 */

import { z } from "zod";
import { InvalidSettingError } from "../errors.js";
import { SUMMARY_LANGUAGES } from "./summary-prompts.js";

interface Rule {
  readonly schema: z.ZodType;
  /** Completes the sentence "Expected `name` to be …". */
  readonly expectation: string;
}

/** The longest time that a timer of Node takes; a longer one would fire at once. */
export const LONGEST_TIMEOUT = 2_147_483_647;
const milliseconds = {
  schema: z.number().int().min(1).max(LONGEST_TIMEOUT),
  expectation: `an integer from 1 to ${LONGEST_TIMEOUT}`,
};

const countFrom = (least: number) => ({
  schema: z.number().int().min(least),
  expectation: `an integer of ${least} or more`,
});
/** An object of a class that may have several copies in one process, so known by a method. */
const objectWith = (method: string) =>
  z.custom(
    (value) => typeof value === "object" && value !== null && Reflect.get(value, method) instanceof Function,
  );
const text = { schema: z.string(), expectation: "a string" };
const flag = { schema: z.boolean(), expectation: "true or false" };

/** Loop limits: a run may lower, not raise what its graph was built with. */
const LIMITS = {
  maxIterations: countFrom(1),
  maxFunctionCalls: countFrom(0),
  maxConsecutiveErrors: countFrom(1),
} as const satisfies Record<string, Rule>;

/** How long a thread may get before its earlier part is summarised, and how much of it stays. */
const SUMMARY_RUN_SETTINGS = {
  maxTokensBeforeSummary: countFrom(0),
  maxMessagesBeforeSummary: countFrom(0),
  messagesToKeep: countFrom(1),
  tokensToKeep: countFrom(1),
} as const satisfies Record<string, Rule>;

const RUN_SETTINGS = {
  model: text,
  systemPrompt: text,
  maxToolCallsFromHistory: countFrom(0),
  ...SUMMARY_RUN_SETTINGS,
  ...LIMITS,
} as const satisfies Record<string, Rule>;

const BUILD_SETTINGS = {
  ...RUN_SETTINGS,
  model: { schema: z.unknown(), expectation: "a model" },
  models: { schema: z.array(z.string()), expectation: "a list of model names" },
  tools: { schema: z.array(z.unknown()), expectation: "a list of tools" },
  summaryModel: { schema: z.unknown(), expectation: "a model" },
  summaryLanguage: {
    schema: z.enum(SUMMARY_LANGUAGES),
    expectation: `one of ${SUMMARY_LANGUAGES.join(", ")}`,
  },
  summaryPrompt: text,
  summaryHeading: text,
  summaryTimeoutMs: milliseconds,
  coveredMessages: { schema: z.enum(["keep", "archive"]), expectation: "keep or archive" },
  includeDetailedErrors: flag,
  toolTimeoutMs: milliseconds,
  maxStreamFallbackAttempts: countFrom(0),
  checkpointer: { schema: objectWith("getTuple"), expectation: "a checkpointer" },
  store: { schema: objectWith("search"), expectation: "a store" },
} as const satisfies Record<string, Rule>;

export const BUILD_SETTING_NAMES: readonly string[] = Object.keys(BUILD_SETTINGS);

export interface LoopLimits {
  /** Model calls with tools in one turn; then one closing call with tools off. */
  readonly maxIterations: number;
  /** Tool calls run in one turn. A batch that would exceed it is not run. Infinity: no limit. */
  readonly maxFunctionCalls: number;
  /** Batches in a row in which every call failed; then one closing call with tools off. */
  readonly maxConsecutiveErrors: number;
}

const DEFAULT_LIMITS: LoopLimits = {
  maxIterations: 40,
  maxFunctionCalls: Number.POSITIVE_INFINITY,
  maxConsecutiveErrors: 3,
};

/** What a run may choose. JSON; Studio shows it as a form. All fields are optional. */
export const runContextSchema = z.object({
  model: z
    .string()
    .optional()
    .describe("The model, as provider:name; one of those that the deployment allows."),
  systemPrompt: z.string().optional().describe("Instructions that stand before the conversation."),
  maxToolCallsFromHistory: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("How many tool calls of earlier turns the model is shown. Empty: all."),
  maxTokensBeforeSummary: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("A longer model input is summarised. 0: never."),
  maxMessagesBeforeSummary: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("So is one of more messages. 0: never."),
  messagesToKeep: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe("How many messages a summary leaves as they are."),
  tokensToKeep: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe("How many tokens a summary leaves as they are, instead of a number of messages."),
  maxIterations: z.number().int().min(1).optional().describe("Model calls with tools in one turn, at most."),
  maxFunctionCalls: z.number().int().min(0).optional().describe("Tool calls in one turn, at most."),
  maxConsecutiveErrors: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe("Failed rounds of tool calls in a row, at most."),
});

export type RunContext = z.infer<typeof runContextSchema>;

/** @throws InvalidSettingError for an unknown name or a value that the setting does not take. */
export function checkBuildSettings(options: unknown): void {
  checkSettings(options, BUILD_SETTINGS, "options");
}

/**
 * What a run's context chooses.
 *
 * @param limits What the graph was built with; a run may only lower it.
 * @param ignoresUnknown Whether unknown names are left out instead of refused.
 * @throws InvalidSettingError for an unknown name, a value that the setting does not take, or a raised limit.
 */
export function readRunContext(
  context: unknown,
  { limits, ignoresUnknown }: { readonly limits: LoopLimits; readonly ignoresUnknown: boolean },
): RunContext {
  if (context === undefined || context === null) return {};
  const own = ignoresUnknown ? pickKnown(context) : context;
  checkSettings(own, RUN_SETTINGS, "context");
  const chosen = runContextSchema.parse(own);
  for (const name of Object.keys(LIMITS) as (keyof LoopLimits)[]) {
    const value = chosen[name];
    if (value !== undefined && value > limits[name]) {
      throw InvalidSettingError.expected(name, `at most ${limits[name]}, the limit of this graph`, value);
    }
  }
  return chosen;
}

function pickKnown(settings: object): object {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => Object.hasOwn(RUN_SETTINGS, name)));
}

export function resolveLimits(
  chosen: Partial<Record<keyof LoopLimits, number | undefined>>,
  base = DEFAULT_LIMITS,
): LoopLimits {
  return {
    maxIterations: chosen.maxIterations ?? base.maxIterations,
    maxFunctionCalls: chosen.maxFunctionCalls ?? base.maxFunctionCalls,
    maxConsecutiveErrors: chosen.maxConsecutiveErrors ?? base.maxConsecutiveErrors,
  };
}

function checkSettings(settings: unknown, rules: Readonly<Record<string, Rule>>, whole: string): void {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    throw InvalidSettingError.expected(whole, "an object", settings);
  }
  for (const [name, value] of Object.entries(settings)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      const known = Object.keys(rules).join(", ");
      throw new InvalidSettingError(name, `Unknown setting \`${name}\`. Known settings are: ${known}.`);
    }
    if (value !== undefined && !rule.schema.safeParse(value).success) {
      throw InvalidSettingError.expected(name, rule.expectation, value);
    }
  }
}
