/** The own keys that a user adds to the state: their channels, and the check of writes to them. */

import { toJsonSchema } from "@langchain/core/utils/json_schema";
import {
  getInteropZodObjectShape,
  type InferInteropZodInput,
  type InteropZodObject,
  isInteropZodSchema,
} from "@langchain/core/utils/types";
import {
  type AnyStateSchema,
  type BaseChannel,
  DeltaValue,
  type ExtractStateType,
  type ExtractUpdateType,
  getJsonSchemaFromSchema,
  ReducedValue,
  StateSchema,
  UntrackedValue,
  UntrackedValueChannel,
} from "@langchain/langgraph";
import { schemaMetaRegistry } from "@langchain/langgraph/zod";
import { z } from "zod/v4";
import { InvalidSettingError, InvalidStateError } from "../errors.js";
import { storageDemand } from "../history/storable.js";
import { safely } from "../shared/json.js";
import { defined, isRecord, madeOnce } from "../shared/values.js";
import { FoldChannel, OVERWRITE, overwriteIn } from "./langgraph/channels.js";
import { isStandardSchema, readWith, type SchemaIssue } from "./schema.js";

export interface OwnState {
  readonly keys: readonly string[];
  /** The keys that combine their values with what is written to them. */
  readonly reducedKeys: ReadonlySet<string>;
  readonly channels: Readonly<Record<string, BaseChannel>>;
  /** Describes the keys to clients. These schemas check nothing, because `read` does. */
  readonly fields: Readonly<Record<string, z.ZodType>>;
  /**
   * Contract: reads what is written to a key, with the user's schema.
   *
   * @throws InvalidStateError if the value does not match its schema, or cannot be stored.
   */
  readonly read: (key: string, value: unknown) => Promise<unknown>;
}

export const NO_OWN_STATE: OwnState = {
  keys: [],
  reducedKeys: new Set(),
  channels: {},
  fields: {},
  read: async (_key, value) => value,
};

/** Tells the own keys from other names. */
export function isKeyOf({ keys }: Pick<OwnState, "keys">): (name: string) => boolean {
  return (name) => keys.includes(name);
}

/** The keys' values in a new thread. */
export function defaultsOf({ channels }: OwnState): Record<string, unknown> {
  const available = Object.entries(channels).filter(([, channel]) => channel.isAvailable());
  return Object.fromEntries(available.map(([key, channel]) => [key, channel.get()]));
}

/** Reads what is written to several keys. */
export async function readOwnValues(
  state: OwnState,
  values: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const read = Object.entries(values).map(
    async ([key, value]) => [key, await state.read(key, value)] as const,
  );
  return Object.fromEntries(await Promise.all(read));
}

/** The graph has channels and nodes with these names. */
const TAKEN: ReadonlySet<string> = new Set([
  "messages",
  "turn",
  "summaryAttempt",
  "threadUsage",
  "steered",
  "patch",
  "summarize",
  "model",
  "approve",
  "tools",
]);

/** LangGraph keeps what it knows about a schema, and a server makes a graph for each run from the same schema. */
const known = new WeakMap<object, OwnState>();

/** @throws InvalidSettingError for a key that the graph itself has. */
export function readStateSchema(schema: OwnStateSchema | undefined): OwnState {
  if (schema === undefined) return NO_OWN_STATE;
  return madeOnce(known, schema, () => makeOwnState(schema));
}

function makeOwnState(schema: OwnStateSchema): OwnState {
  const given: [string, unknown][] = Object.entries(
    StateSchema.isInstance(schema) ? schema.fields : getInteropZodObjectShape(schema),
  );
  for (const [key] of given) {
    if (TAKEN.has(key) || key.startsWith("__"))
      throw new InvalidSettingError(
        "stateSchema",
        `Expected \`stateSchema\` to have keys of its own, got \`${key}\`, which the graph uses itself.${key === "messages" ? " Leave `messages` out." : ""}`,
      );
  }
  const fields = new Map(given.map(([key, field]) => [key, readField(key, field)]));
  const each = <Value>(make: (field: OwnField) => Value) =>
    Object.fromEntries([...fields].map(([key, field]) => [key, make(field)]));
  return {
    keys: [...fields.keys()],
    reducedKeys: new Set([...fields].flatMap(([key, { whole }]) => (whole === undefined ? [] : [key]))),
    channels: each(({ channel }) => channel),
    // A key without a value is left out of the state.
    fields: each(({ json, channel }) =>
      channel.isAvailable() ? describedBy(json) : describedBy(json).optional(),
    ),
    read: async (key, value) => {
      const field = fields.get(key);
      return field === undefined ? value : readValue(key, field, value);
    },
  };
}

interface OwnField {
  readonly channel: BaseChannel;
  /** Checks an update. */
  readonly input: unknown;
  /** Checks a value that replaces a reduced key's whole value; undefined for a key without a reducer. */
  readonly whole: unknown;
  readonly json: Record<string, unknown>;
}

function readField(key: string, field: unknown): OwnField {
  if (DeltaValue.isInstance(field)) {
    const channel = new StateSchema({ [key]: field }).getChannels()[key];
    return { ...reduced(field), ...(channel !== undefined && { channel }) };
  }
  if (ReducedValue.isInstance(field)) return reduced(field);
  if (UntrackedValue.isInstance(field)) {
    const initial = defined({ initialValueFactory: defaultGetterOf(field.schema) });
    const channel = new UntrackedValueChannel({ guard: false, ...initial });
    return { channel, input: field.schema, whole: undefined, json: jsonSchemaOf(field.schema) };
  }
  const meta = isRecord(field) ? schemaMetaRegistry.get(field as never) : undefined;
  const extra = meta?.jsonSchemaExtra;
  if (meta?.reducer !== undefined) {
    const { fn, schema = field } = meta.reducer;
    const { default: initial } = meta;
    return reduced({ valueSchema: field, inputSchema: schema, reducer: fn, jsonSchemaExtra: extra }, initial);
  }
  return {
    channel: new FoldChannel(lastWriter, meta?.default ?? defaultGetterOf(field)),
    input: field,
    whole: undefined,
    json: { ...jsonSchemaOf(field), ...extra },
  };
}

/** LangGraph's own channel refuses two values in one step, but two tools of a batch can write the same key. */
const lastWriter = (_current: unknown, next: unknown) => next;

interface Reduced {
  readonly valueSchema: unknown;
  readonly inputSchema: unknown;
  readonly reducer: (current: never, next: never) => unknown;
  readonly jsonSchemaExtra?: Record<string, unknown> | undefined;
}

function reduced(
  { valueSchema, inputSchema, reducer, jsonSchemaExtra }: Reduced,
  initial = defaultGetterOf(valueSchema),
): OwnField {
  return {
    channel: new FoldChannel(reducer as typeof lastWriter, initial),
    input: inputSchema,
    whole: valueSchema,
    json: { ...jsonSchemaOf(inputSchema), ...jsonSchemaExtra },
  };
}

async function readValue(key: string, { input, whole }: OwnField, given: unknown): Promise<unknown> {
  const overwrite = overwriteIn(given);
  const outcome = await (overwrite === undefined
    ? readWith(input, given)
    : readWith(whole ?? input, overwrite.value));
  if (outcome.kind === "issues") {
    const [issue] = outcome.issues;
    throw InvalidStateError.mismatch(key, placeIn(key, issue), issue.message);
  }
  const demand = storageDemand(outcome.value);
  if (demand !== undefined) throw new InvalidStateError(key, `Expected \`${key}\` to be ${demand}.`);
  return overwrite !== undefined && whole !== undefined ? { [OVERWRITE]: outcome.value } : outcome.value;
}

/*
 * The schemas that a user can give for own keys, and the types of their values.
 */

/** A zod object, or LangGraph's `StateSchema`. */
export type OwnStateSchema = InteropZodObject | AnyStateSchema;
/** A zod object. */
export type OwnContextSchema = InteropZodObject;

/** The state's own keys, as a schema describes them. Empty without a schema. */
export type StateOf<Schema> = Schema extends OwnStateSchema ? ExtractStateType<Schema> : NoKeys;
/** What can be written to the state's own keys. */
export type StateUpdateOf<Schema> = Schema extends OwnStateSchema
  ? Partial<ExtractUpdateType<Schema>>
  : NoKeys;
/** The context's own keys as a caller passes them. */
export type ContextOf<Schema> = Schema extends OwnContextSchema ? InferInteropZodInput<Schema> : NoKeys;
/** No own keys. */
// biome-ignore lint/complexity/noBannedTypes: An intersection with this type changes nothing, unlike a record.
export type NoKeys = {};

/** Makes a schema's default value; undefined if it has none. It is made anew each time, so threads share none. */
function defaultGetterOf(schema: unknown): (() => unknown) | undefined {
  if (!isStandardSchema(schema)) return undefined;
  const read = (): unknown => {
    const result = safely(() => schema["~standard"].validate(undefined));
    return isRecord(result) && result["issues"] === undefined ? result["value"] : undefined;
  };
  return read() === undefined ? undefined : read;
}

/** The JSON schema of the values that a schema takes. Empty if it cannot be written as one. */
export function jsonSchemaOf(schema: unknown): Record<string, unknown> {
  const written = safely<unknown>(() =>
    isInteropZodSchema(schema) ? toJsonSchema(schema) : getJsonSchemaFromSchema(schema),
  );
  if (!isRecord(written)) return {};
  // These have a meaning only at the root of a schema.
  const { $schema: _version, id: _id, $defs: definitions, ...own } = written;
  return definitions === undefined ? own : {};
}

/** A schema that takes any value, and tells clients which values its key takes. */
export function describedBy(json: Record<string, unknown>): z.ZodType {
  return z.any().meta(json);
}

/** An issue's place, such as `plan.steps[0]`. */
export function placeIn(key: string, { path }: SchemaIssue): string {
  return key + path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
}
