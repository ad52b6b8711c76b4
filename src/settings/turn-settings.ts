/** Settings of a turn: its limits, those of its thread, and how much of earlier turns the model sees. */

import { z } from "zod/v4";
import { readJson, readNumber } from "./environment-text.js";
import { countFrom, type Rule } from "./rule.js";
import type { SettingsTable } from "./setting.js";

/** See `ToolCallsToKeep`. */
const callsToKeep = {
  schema: z.union([
    z.number().int().min(0),
    z.strictObject({ max: z.number().int().min(0), clearAtLeast: z.number().int().min(1).optional() }),
  ]),
  expects:
    "an integer of 0 or more, or an object with `max` (0 or more) and `clearAtLeast` (1 or more), both integers",
} satisfies Rule;

export const TURN_SETTINGS = {
  /**
   * How many times the model may call tools in one turn. After that it is asked for a final response without tools.
   * Default: 40.
   */
  maxIterations: {
    ...countFrom(1),
    help: "How many times the model may call tools in one turn. After that it is asked for a final response without tools. Default: 40.",
    default: 40,
    env: { name: "MAX_ITERATIONS", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tool calls may run in one turn. A batch of calls that would exceed this limit is not run. Default: no
   * limit.
   */
  maxToolCalls: {
    ...countFrom(0),
    help: "How many tool calls may run in one turn. A batch of calls that would exceed this limit is not run. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_TOOL_CALLS", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tool calls may run in one thread. A batch of calls that would exceed this limit is not run. Default: no
   * limit.
   */
  maxToolCallsPerThread: {
    ...countFrom(0),
    help: "How many tool calls may run in one thread. A batch of calls that would exceed this limit is not run. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_TOOL_CALLS_PER_THREAD", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tokens the model may use in one turn, input and output together. After that it is asked for a final
   * response without tools. Default: no limit.
   */
  maxTokensPerTurn: {
    ...countFrom(1),
    help: "How many tokens the model may use in one turn, input and output together. After that it is asked for a final response without tools. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_TOKENS_PER_TURN", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tokens the model may use in one thread, input and output together. After that it is asked for a final
   * response without tools, and in later turns it is not asked. Default: no limit.
   */
  maxTokensPerThread: {
    ...countFrom(1),
    help: "How many tokens the model may use in one thread, input and output together. After that it is asked for a final response without tools, and in later turns it is not asked. Default: no limit.",
    default: Number.POSITIVE_INFINITY,
    env: { name: "MAX_TOKENS_PER_THREAD", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many times in a row all tool calls of a response may fail. After that the model is asked for a final
   * response without tools. Default: 3.
   */
  maxConsecutiveErrors: {
    ...countFrom(1),
    help: "How many times in a row all tool calls of a response may fail. After that the model is asked for a final response without tools. Default: 3.",
    default: 3,
    env: { name: "MAX_CONSECUTIVE_ERRORS", read: readNumber },
    perRun: true,
    lowerOnly: true,
  },
  /**
   * How many tool calls of earlier turns the model is shown, with their results. As an object, `{ max, clearAtLeast }`:
   * once there are more than `max`, the oldest `clearAtLeast` are left out together, so that the provider's prompt
   * cache is lost less often. Default: all.
   */
  maxToolCallsFromHistory: {
    ...callsToKeep,
    help: "How many tool calls of earlier turns the model is shown, with their results. As an object, `{ max, clearAtLeast }`: once there are more than `max`, the oldest `clearAtLeast` are left out together, so that the provider's prompt cache is lost less often. Default: all.",
    default: undefined,
    env: {
      name: "MAX_TOOL_CALLS_FROM_HISTORY",
      read: readJson,
      expects: 'an integer of 0 or more, or JSON such as {"max":12,"clearAtLeast":6}',
    },
    // A number, as Studio's form has no field for either a number or an object.
    perRun: countFrom(0),
  },
} as const satisfies SettingsTable;
