/** What a run may choose in its `context`. JSON; Studio shows it as a form. */

import { z } from "zod";
import { InvalidSettingError } from "../errors.js";
import type { LoopLimits } from "./loop-limits.js";
import { checkSettings, countFrom, type Rule, text } from "./rule.js";
import { type ToolChoice, toolChoiceRule } from "./tool-choice.js";

/** What a run may choose for itself. Each setting is as the graph was built where a run leaves it out. */
export interface RunContext {
  /** The model, as `provider:name`: the one of the graph, or one of its `models`. */
  model?: string | undefined;
  /** Instructions before the conversation. They replace those of the graph. */
  systemPrompt?: string | undefined;
  /** Whether the model may, must or must not call a tool. */
  toolChoice?: ToolChoice | undefined;
  /** How many tool calls of earlier turns the model is shown, with their results; 0 or more. */
  maxToolCallsFromHistory?: number | undefined;
  /** A model input of more tokens is summarised. 0: never. */
  maxTokensBeforeSummary?: number | undefined;
  /** A model input of more messages is summarised. 0: never. */
  maxMessagesBeforeSummary?: number | undefined;
  /** How many messages a summary leaves as they are; 1 or more. */
  messagesToKeep?: number | undefined;
  /** How many tokens a summary leaves as they are, instead of a number of messages; 1 or more. */
  tokensToKeep?: number | undefined;
  /** Model calls with tools in one turn; 1 or more, and at most the limit of the graph. */
  maxIterations?: number | undefined;
  /** Tool calls in one turn; 0 or more, and at most the limit of the graph. */
  maxToolCalls?: number | undefined;
  /** Rounds in a row in which every tool call failed; 1 or more, and at most the limit of the graph. */
  maxConsecutiveErrors?: number | undefined;
}

interface RunRule extends Rule {
  /** Stands beside the field of the form. */
  readonly help: string;
}

const LIMITS = {
  maxIterations: { ...countFrom(1), help: "Model calls with tools in one turn, at most." },
  maxToolCalls: { ...countFrom(0), help: "Tool calls in one turn, at most." },
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
