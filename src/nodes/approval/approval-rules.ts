/** Reads `requireApproval` into one rule for each tool whose calls can need a human. */

import { type JSONSchema, toJsonSchema } from "@langchain/core/utils/json_schema";
import { isInteropZodSchema } from "@langchain/core/utils/types";
import { z } from "zod/v4";
import { InvalidSettingError } from "../../errors.js";
import {
  type ApprovalOptions,
  DECISION_TYPES,
  type DecisionType,
  type RequireApproval,
} from "../../settings/require-approval.js";
import { aFunction, type Rules } from "../../settings/rule.js";
import { didYouMean } from "../../shared/did-you-mean.js";
import { isPlainObject } from "../../shared/is-plain-object.js";

/** How a human is asked about the calls of one tool. */
export interface ApprovalRule extends Pick<ApprovalOptions, "description" | "when"> {
  readonly allowedDecisions: readonly DecisionType[];
  /** The schema that edited arguments must match, as the setting has it. */
  readonly argsSchema: object | undefined;
  /** The same as a JSON schema, which the request contains. */
  readonly argsJsonSchema: JSONSchema | undefined;
}

/** The rule of a tool without options. */
export const ANY_DECISION: ApprovalRule = {
  allowedDecisions: DECISION_TYPES,
  argsSchema: undefined,
  argsJsonSchema: undefined,
};

/** The rules by the names of their tools. The calls of other tools need no human. */
export type ApprovalRules = ReadonlyMap<string, ApprovalRule>;

const OPTION_RULES = {
  allowedDecisions: {
    schema: z.array(z.enum(DECISION_TYPES)).min(1),
    expects: "a list with one or more of approve, edit, reject and respond",
  },
  description: {
    schema: z.custom((value) => typeof value === "string" || typeof value === "function"),
    expects: "a text, or a function (toolCall, state, runtime) => text",
  },
  argsSchema: {
    schema: z.custom((value) => isInteropZodSchema(value) || isPlainObject(value)),
    expects: "a JSON schema or a zod schema",
  },
  when: { ...aFunction(), expects: "a function ({ toolCall, state, runtime }) => boolean" },
} as const satisfies Rules;

/**
 * The rules for a list of names or an object.
 *
 * @param toolNames The tools whose calls the graph runs.
 * @throws InvalidSettingError for a tool that does not exist, an unknown option, or a value that an option does not
 * take. The error names the tool and the option.
 */
export function readApprovalRules(
  given: Exclude<RequireApproval, (...given: never[]) => unknown>,
  toolNames: readonly string[],
): ApprovalRules {
  const entries = isNames(given) ? given.map((name) => [name, true] as const) : Object.entries(given);
  const rules = new Map<string, ApprovalRule>();
  for (const [name, options] of entries) {
    if (!toolNames.includes(name)) {
      const expectation = `names of tools (${toolNames.join(", ") || "there are none"})`;
      throw InvalidSettingError.expected("requireApproval", expectation, name, didYouMean(name, toolNames));
    }
    const rule = readRule(`requireApproval.${name}`, options);
    if (rule !== undefined) rules.set(name, rule);
  }
  return rules;
}

function isNames(given: unknown): given is readonly string[] {
  return Array.isArray(given);
}

function readRule(place: string, options: unknown): ApprovalRule | undefined {
  if (typeof options === "boolean") return options ? ANY_DECISION : undefined;
  if (!isPlainObject(options)) {
    const names = Object.keys(OPTION_RULES).join(", ");
    throw InvalidSettingError.expected(place, `true, false or an object with options (${names})`, options);
  }
  checkOptions(place, options);
  const { allowedDecisions = DECISION_TYPES, description, argsSchema, when } = options as ApprovalOptions;
  return {
    allowedDecisions,
    ...(description !== undefined && { description }),
    ...(when !== undefined && { when }),
    argsSchema,
    argsJsonSchema: argsSchema && readJsonSchema(`${place}.argsSchema`, argsSchema),
  };
}

function checkOptions(place: string, options: Record<string, unknown>): void {
  const known = Object.keys(OPTION_RULES);
  for (const [name, value] of Object.entries(options)) {
    const rule = known.includes(name) ? OPTION_RULES[name as keyof typeof OPTION_RULES] : undefined;
    if (rule === undefined) {
      const hint = didYouMean(name, known) || ` Known options are: ${known.join(", ")}.`;
      throw new InvalidSettingError(place, `Unknown option \`${place}.${name}\`.${hint}`);
    }
    if (value !== undefined && !rule.schema.safeParse(value).success)
      throw InvalidSettingError.expected(`${place}.${name}`, rule.expects, value);
  }
}

/** A schema with transforms or functions cannot be sent to a client. */
function readJsonSchema(place: string, schema: object): JSONSchema {
  try {
    const converted: unknown = isInteropZodSchema(schema) ? toJsonSchema(schema) : schema;
    // A copy that is surely JSON, because checkpoints store the request.
    return JSON.parse(JSON.stringify(converted)) as JSONSchema;
  } catch {
    throw InvalidSettingError.expected(place, "a schema that can be written as a JSON schema", schema);
  }
}
