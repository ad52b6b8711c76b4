/** What a run may choose in its `context`. JSON; Studio shows it as a form. */

import { z } from "zod";
import { InvalidSettingError } from "../errors.js";
import type { LoopLimits } from "./loop-limits.js";
import { checkSettings, countFrom, type Rule, text } from "./rule.js";
import { toolChoiceRule } from "./tool-choice.js";

interface RunRule extends Rule {
  /** Stands beside the field of the form. */
  readonly help: string;
}

const LIMITS = {
  maxIterations: { ...countFrom(1), help: "Model calls with tools in one turn, at most." },
  maxFunctionCalls: { ...countFrom(0), help: "Tool calls in one turn, at most." },
  maxConsecutiveErrors: { ...countFrom(1), help: "Failed rounds of tool calls in a row, at most." },
} as const satisfies Record<keyof LoopLimits, RunRule>;

/** Each setting: what it must be, and the words that say so. All are optional. */
export const RUN_SETTINGS = {
  model: { ...text, help: "The model, as provider:name; one of those that the deployment allows." },
  systemPrompt: { ...text, help: "Instructions that stand before the conversation." },
  toolChoice: { ...toolChoiceRule, help: "Whether the model may, must or must not call a tool." },
  maxToolCallsFromHistory: {
    ...countFrom(0),
    help: "How many tool calls of earlier turns the model is shown. Empty: all.",
  },
  maxTokensBeforeSummary: { ...countFrom(0), help: "A longer model input is summarised. 0: never." },
  maxMessagesBeforeSummary: { ...countFrom(0), help: "So is one of more messages. 0: never." },
  messagesToKeep: { ...countFrom(1), help: "How many messages a summary leaves as they are." },
  tokensToKeep: {
    ...countFrom(1),
    help: "How many tokens a summary leaves as they are, instead of a number of messages.",
  },
  ...LIMITS,
} as const satisfies Record<string, RunRule>;

type RunSettings = typeof RUN_SETTINGS;
type RunContextShape = { [Name in keyof RunSettings]: z.ZodOptional<RunSettings[Name]["schema"]> };

export const runContextSchema = z.object(
  Object.fromEntries(
    Object.entries(RUN_SETTINGS).map(([name, { schema, help }]) => [name, schema.optional().describe(help)]),
  ) as RunContextShape,
);

export type RunContext = z.infer<typeof runContextSchema>;

export interface RunContextOptions {
  /** What the graph was built with; a run may only lower it. */
  readonly limits: LoopLimits;
  /** Whether unknown names are left out instead of refused. */
  readonly ignoresUnknown: boolean;
}

/**
 * What a run's context chooses.
 *
 * @throws InvalidSettingError for an unknown name, a value that the setting does not take, or a raised limit.
 */
export function readRunContext(context: unknown, { limits, ignoresUnknown }: RunContextOptions): RunContext {
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
