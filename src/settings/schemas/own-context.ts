/** The own keys that a user adds to the `context` of a run. */

import { getInteropZodObjectShape } from "@langchain/core/utils/types";
import { z } from "zod/v4";
import { InvalidSettingError } from "../../errors.js";
import { runContextSchema } from "../run-context.js";
import type { OwnContextSchema } from "./schema-types.js";
import { describedBy, jsonSchemaOf, placeIn, readWith } from "./standard-schema.js";

export type OwnContextValues = Readonly<Record<string, unknown>>;

export interface OwnContext {
  readonly keys: readonly string[];
  /** The schema of the complete context, for clients. It does not check the own keys, because `read` does. */
  readonly graphSchema: typeof runContextSchema;
  /**
   * Contract: reads the own keys of a context, with the defaults of the user's schema.
   *
   * @throws InvalidSettingError for a value that does not match the schema.
   */
  readonly read: (context: unknown) => Promise<OwnContextValues>;
}

const NO_OWN_CONTEXT: OwnContext = { keys: [], graphSchema: runContextSchema, read: async () => ({}) };

/** LangGraph keeps what it knows of a schema, and a server makes a graph for each run from the same schema. */
const known = new WeakMap<object, OwnContext>();

/** @throws InvalidSettingError for a key that is a setting of a run. */
export function readContextSchema(schema: OwnContextSchema | undefined): OwnContext {
  if (schema === undefined) return NO_OWN_CONTEXT;
  const context = known.get(schema) ?? makeOwnContext(schema);
  known.set(schema, context);
  return context;
}

function makeOwnContext(schema: OwnContextSchema): OwnContext {
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
  return {
    keys,
    graphSchema: z.object({ ...runContextSchema.shape, ...Object.fromEntries(fields) }),
    read: async (context) => {
      const given = pick(Object(context), keys);
      const outcome = await readWith(schema, given);
      if (outcome.kind === "value") return Object(outcome.value);
      const { message } = outcome.issue;
      const place = placeIn("context", outcome.issue);
      throw new InvalidSettingError(place, `Expected \`${place}\` to match \`contextSchema\`: ${message}.`);
    },
  };
}

function pick(values: object, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));
}
