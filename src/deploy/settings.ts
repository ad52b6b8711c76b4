/** The deployment's settings, read from the environment once. */

import { z } from "zod";
import { InvalidSettingError } from "../errors.js";
import { LONGEST_TIMEOUT } from "../settings/rule.js";

type Environment = Readonly<Record<string, string | undefined>>;

const countFrom = (least: number) => z.coerce.number().int().min(least);
const names = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  );
const url = z.url({ protocol: /^https?$/ });

/** Each variable: what it must be, and the words that say so. An empty one counts as not set. */
const VARIABLES = {
  /** The model, as provider:name. `offline:` needs no key and no network. */
  MODEL: { schema: z.string().default("offline:"), expectation: "a model as provider:name" },
  /** Further models that a run may choose, separated by commas. */
  MODELS: { schema: names, expectation: "model names separated by commas" },
  SYSTEM_PROMPT: { schema: z.string().optional(), expectation: "a text" },
  MAX_TOKENS_BEFORE_SUMMARY: { schema: countFrom(0).optional(), expectation: "an integer of 0 or more" },
  MAX_MESSAGES_BEFORE_SUMMARY: { schema: countFrom(0).optional(), expectation: "an integer of 0 or more" },
  MESSAGES_TO_KEEP: { schema: countFrom(1).optional(), expectation: "an integer of 1 or more" },
  TOKENS_TO_KEEP: { schema: countFrom(1).optional(), expectation: "an integer of 1 or more" },
  SUMMARY_MODEL: { schema: z.string().optional(), expectation: "a model as provider:name" },
  SUMMARY_LANGUAGE: { schema: z.enum(["en", "zh"]).optional(), expectation: "en or zh" },
  SUMMARY_PROMPT: { schema: z.string().optional(), expectation: "a text" },
  SUMMARY_HEADING: { schema: z.string().optional(), expectation: "a text" },
  SUMMARY_TIMEOUT_MS: {
    schema: countFrom(1).max(LONGEST_TIMEOUT).optional(),
    expectation: `an integer from 1 to ${LONGEST_TIMEOUT}`,
  },
  COVERED_MESSAGES: { schema: z.enum(["keep", "archive"]).optional(), expectation: "keep or archive" },
  MAX_ITERATIONS: { schema: countFrom(1).optional(), expectation: "an integer of 1 or more" },
  MAX_TOOL_CALLS: { schema: countFrom(0).optional(), expectation: "an integer of 0 or more" },
  MAX_CONSECUTIVE_ERRORS: { schema: countFrom(1).optional(), expectation: "an integer of 1 or more" },
  MAX_TOOL_CALLS_FROM_HISTORY: { schema: countFrom(0).optional(), expectation: "an integer of 0 or more" },
  TOOL_CHOICE: {
    schema: z.enum(["auto", "none", "required"]).optional(),
    expectation: "auto, none or required",
  },
  /** The tools whose calls wait for a human. */
  REQUIRE_APPROVAL: { schema: names, expectation: "names of tools separated by commas" },
  TERMINATE_ON_UNKNOWN_CALLS: { schema: z.stringbool().default(false), expectation: "true or false" },
  TOOL_TIMEOUT_MS: {
    schema: countFrom(1).max(LONGEST_TIMEOUT).optional(),
    expectation: `an integer from 1 to ${LONGEST_TIMEOUT}`,
  },
  MAX_STREAM_FALLBACK_ATTEMPTS: { schema: countFrom(0).optional(), expectation: "an integer of 0 or more" },
  /** The tools of this deployment write their errors for the model. */
  INCLUDE_DETAILED_ERRORS: { schema: z.stringbool().default(true), expectation: "true or false" },
  /** For Open-Meteo's customers and for those who host it themselves. */
  OPEN_METEO_GEOCODING_URL: { schema: url.optional(), expectation: "an http(s) URL" },
  OPEN_METEO_FORECAST_URL: { schema: url.optional(), expectation: "an http(s) URL" },
} as const;

type Variables = typeof VARIABLES;
type Settings = { readonly [Name in keyof Variables]: z.infer<Variables[Name]["schema"]> };

/** @throws InvalidSettingError that names the first variable whose value cannot be used. */
export function readSettings(environment: Environment): Settings {
  const settings: Record<string, unknown> = {};
  for (const [name, { schema, expectation }] of Object.entries(VARIABLES)) {
    const value = environment[name]?.trim() || undefined;
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw InvalidSettingError.expected(name, expectation, value);
    settings[name] = parsed.data;
  }
  return settings as Settings;
}
