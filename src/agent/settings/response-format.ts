/** The format of a structured response, as the option names it. */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { z } from "zod/v4";
import { InvalidSettingError, TetherError } from "../../errors.js";
import { storageDemand } from "../../history/storable.js";
import { checkSettings, type Rule, type Rules, text } from "../../shared/check-settings.js";
import { errorMessage } from "../../shared/is-error.js";
import { isRecord } from "../../shared/values.js";
import { isStandardSchema, readWith, type SchemaIssue, type StandardSchema } from "../../threads/schema.js";

/** What is wrong with a structured response. */
export type StructuredOutputError = StructuredOutputParsingError | MultipleStructuredOutputsError;

/** The options of {@link toolStrategy}. */
export interface ToolStrategyOptions {
  /**
   * What the model reads when its structured response does not match the schema, or when it gives several at once.
   * `true`: what is wrong. A text: this text. A function: the text that it returns. The model is then asked again. With
   * `false`, the run fails with the error.
   *
   * Contract of the function: called once for each such response. If it throws, the run fails with that error.
   *
   * @default true
   */
  readonly handleError?:
    | boolean
    | string
    | ((error: StructuredOutputError) => string | Promise<string>)
    | undefined;
  /** The result of the call with the structured response. @default "Returning structured response: " and its JSON */
  readonly toolMessageContent?: string | undefined;
}

/** A response format for {@link createAgentGraph}. {@link toolStrategy} makes it. */
export interface ToolStrategy<Response = unknown> {
  readonly kind: "tool-strategy";
  readonly schema: ResponseSchema;
  readonly options: ToolStrategyOptions;
  /** Only a type. There is no such value. */
  readonly _schemaType?: Response;
}

/** A response format for {@link createAgentGraph}. {@link providerStrategy} makes it. */
export interface ProviderStrategy<Response = unknown> {
  readonly kind: "provider-strategy";
  readonly schema: ResponseSchema;
  readonly strict: boolean | undefined;
  /** Only a type. There is no such value. */
  readonly _schemaType?: Response;
}

/** LangChain's `toolStrategy(…)` of one schema, from any copy of `langchain`: a list with one entry. */
type LangChainToolStrategy = readonly {
  readonly tool: { readonly type: "function" };
  readonly schema: object;
}[];
/** LangChain's `providerStrategy(…)`, from any copy of `langchain`. */
interface LangChainProviderStrategy {
  readonly schema: object;
  readonly strict: boolean;
  parse(response: never): unknown;
}

/** The format of a run's final response: a schema or a strategy. */
export type ResponseFormat =
  | ResponseSchema
  | ToolStrategy
  | ProviderStrategy
  | LangChainToolStrategy
  | LangChainProviderStrategy;

/** The type of the structured response in a format. */
export type ResponseIn<Format> = Format extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : "_schemaType" extends keyof Format
    ? NonNullable<Format["_schemaType"]>
    : Record<string, unknown>;

/**
 * A response format in which the model responds with a tool call: the schema is offered as a tool that is never run. It
 * works with every model that can call tools.
 *
 * @param schema The response's schema. It describes an object. Its `title` is the tool's name.
 * @param options What the model reads about a wrong response, and the result after a right one.
 * @throws InvalidSettingError for a schema that no model could get, or a wrong option.
 * @example
 * ```ts
 * import { createAgentGraph, toolStrategy } from "langgraph-tether";
 * import { z } from "zod";
 *
 * const City = z.object({ name: z.string(), country: z.string() }).meta({ title: "City" });
 * const agent = createAgentGraph({ model: "offline:", responseFormat: toolStrategy(City) });
 * const { structuredResponse } = await agent.invoke({
 *   messages: 'call City {"name": "Oslo", "country": "Norway"}',
 * });
 * console.log(structuredResponse?.country); // Norway
 * ```
 */
export function toolStrategy<const Schema extends ResponseSchema>(
  schema: Schema,
  options: ToolStrategyOptions = {},
): ToolStrategy<ResponseIn<Schema>> {
  readSchema(schema);
  readOptions(options);
  return { kind: "tool-strategy", schema, options };
}

/**
 * A response format in which the provider itself makes the response match the schema. Not every model can do this, and
 * some cannot while they have tools.
 *
 * @param given The response's schema, which describes an object, or an object with that `schema` and `strict`: whether
 * the provider must keep its every detail. Default: true if the schema requires all of its fields.
 * @throws InvalidSettingError for a schema that no model could get.
 * @example
 * ```ts
 * import { createAgentGraph, providerStrategy } from "langgraph-tether";
 * import { z } from "zod";
 *
 * const City = z.object({ name: z.string(), country: z.string() });
 * // "offline:" is a small model for trials, and cannot do this; a real one is "openai:gpt-4o-mini".
 * const agent = createAgentGraph({ model: "offline:", responseFormat: providerStrategy(City) });
 * const { structuredResponse } = await agent.invoke({ messages: "What is the capital of Norway?" });
 * console.log(structuredResponse); // undefined
 * ```
 */
export function providerStrategy<const Schema extends ResponseSchema>(
  given: Schema | { readonly schema: Schema; readonly strict?: boolean | undefined },
): ProviderStrategy<ResponseIn<Schema>> {
  const { schema, strict } = isWithStrict(given) ? given : { schema: given, strict: undefined };
  readSchema(schema);
  return { kind: "provider-strategy", schema, strict };
}

/** A JSON schema has a `type`, and a Standard Schema has its own mark. */
function isWithStrict<Schema extends ResponseSchema>(
  given: Schema | { readonly schema: Schema; readonly strict?: boolean | undefined },
): given is { readonly schema: Schema; readonly strict?: boolean | undefined } {
  return (
    isRecord(given) &&
    "schema" in given &&
    typeof given.schema === "object" &&
    !("type" in given) &&
    !("~standard" in given)
  );
}

/** A checked response format. */
export interface FormatPlan {
  /** `"either"`: the provider's own way if the model has it, else tool calls. */
  readonly strategy: "tool" | "provider" | "either";
  readonly format: Format;
  /** Whether the provider must keep the schema's every detail. Undefined: if the schema allows it. */
  readonly strict: boolean | undefined;
  readonly options: ToolStrategyOptions;
}

export const responseFormatRule = {
  schema: z.custom<ResponseFormat>((value) => typeof value === "object" || typeof value === "function"),
  expects: "a zod schema, a JSON schema, toolStrategy(…) or providerStrategy(…)",
} satisfies Rule;

/** @throws InvalidSettingError for a value that is not a response format, or a schema that no model could get. */
export function readResponseFormat(given: ResponseFormat | undefined): FormatPlan | undefined {
  if (given === undefined || given === null) return undefined;
  if (isProviderStrategy(given)) {
    const strict = typeof given.strict === "boolean" ? given.strict : undefined;
    return { strategy: "provider", format: readSchema(given.schema), strict, options: {} };
  }
  const tool = (schema: unknown, options: unknown): FormatPlan => ({
    strategy: "tool",
    format: readSchema(schema),
    strict: undefined,
    options: readOptions(options),
  });
  if (isToolStrategy(given)) return tool(given.schema, given.options);
  const [first, ...others]: readonly unknown[] = [given].flat();
  if (others.length === 0 && isLangChainTool(first)) {
    const { handleError, toolMessageContent } = Object(first.options);
    return tool(first.tool.function, { handleError, toolMessageContent });
  }
  return { ...tool(given, {}), strategy: "either" };
}

function isToolStrategy(value: object): value is Pick<ToolStrategy, "schema" | "options"> {
  return Reflect.get(value, "kind") === "tool-strategy" && "schema" in value;
}

/** One entry of the list that LangChain's `toolStrategy` returns. */
function isLangChainTool(
  value: unknown,
): value is { readonly tool: { readonly function: unknown }; readonly options?: unknown } {
  if (!isRecord(value) || !isRecord(value["tool"])) return false;
  return isRecord(value["tool"]["function"]) && isRecord(value["schema"]);
}

/** Ours, or LangChain's. */
function isProviderStrategy(value: unknown): value is { readonly schema: unknown; readonly strict: unknown } {
  if (!isRecord(value)) return false;
  const { kind, schema, strict, parse } = value;
  return (
    kind === "provider-strategy" ||
    (isRecord(schema) && typeof strict === "boolean" && typeof parse === "function")
  );
}

const OPTION_RULES = {
  handleError: {
    schema: z.custom((value) => ["boolean", "string", "function"].includes(typeof value)),
    expects: "true, false, a string or a function",
  },
  toolMessageContent: { ...text, expects: "a string" },
} satisfies Rules;

function readOptions(given: unknown = {}): ToolStrategyOptions {
  checkSettings(given, OPTION_RULES, "responseFormat.options", "responseFormat.");
  return given as ToolStrategyOptions;
}

function refused(expectation: string, value?: unknown): InvalidSettingError {
  return InvalidSettingError.expected("responseFormat", expectation, value);
}

/*
 * A schema of a structured response: its JSON schema, its name, and the check of a value.
 */

/** A JSON schema, or a function definition `{ name, parameters }` in OpenAI's form. */
type JsonSchema = { readonly [keyword: string]: unknown };

/** The schema of a structured response: zod, another Standard Schema that converts to JSON schema, or JSON schema. */
export type ResponseSchema = StandardSchema | JsonSchema;

export type CheckedResponse =
  | { readonly kind: "right"; readonly value: unknown }
  /** Each error is a text that names the field. */
  | { readonly kind: "wrong"; readonly errors: readonly string[] };

export interface Format {
  /** A name that every provider accepts as the name of a tool. */
  readonly name: string;
  readonly description: string | undefined;
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /** Contract: never rejects. A zod schema completes and transforms the value. */
  readonly check: (value: unknown) => Promise<CheckedResponse>;
}

/** The name of a format whose schema has no title. */
const FALLBACK_NAME = "extract";

function readSchema(schema: unknown): Format {
  const isObject = (typeof schema === "object" && schema !== null) || typeof schema === "function";
  if (!isObject) throw refused("a schema", schema);
  if (Array.isArray(schema))
    throw refused("one schema, such as an object with a field for each kind of response", schema);
  const definition = readDefinition(schema);
  const jsonSchema = jsonSchemaOf(schema, definition?.parameters ?? schema);
  const name = legalName(definition?.name ?? jsonSchema["title"]) ?? FALLBACK_NAME;
  const description = definition?.description ?? jsonSchema["description"];
  return {
    name,
    description: typeof description === "string" ? description : undefined,
    jsonSchema,
    check: (value) => checkResponse(isStandardSchema(schema) ? schema : jsonSchema, value),
  };
}

/** The form `{ name, description, parameters }`, which LangChain also takes. */
function readDefinition(schema: object) {
  const { name, parameters, description } = schema as Record<string, unknown>;
  const isDefinition = typeof name === "string" && isRecord(parameters) && !isStandardSchema(schema);
  return isDefinition ? { name, parameters, description } : undefined;
}

function jsonSchemaOf(given: object, schema: object): Record<string, unknown> {
  try {
    const json: unknown = toJsonSchema(schema);
    if (isRecord(json) && json["type"] === "object") return json;
  } catch (error) {
    const reason = errorMessage(error);
    throw refused(`a schema that can be written as JSON schema (${reason})`, given);
  }
  throw refused("a schema of an object", given);
}

/** The tools that a format can offer a model, as definitions in OpenAI's form. */
export function formatTools({ strategy, format }: FormatPlan): BindToolsInput[] {
  return strategy === "provider" ? [] : [toolOf(format)];
}

export function toolOf({ name, description, jsonSchema }: Format): BindToolsInput {
  const text = description ?? "Tool for extracting structured output from the model's response.";
  return { type: "function", function: { name, description: text, parameters: jsonSchema } };
}

async function checkResponse(schema: unknown, value: unknown): Promise<CheckedResponse> {
  const outcome = await readWith(schema, value);
  if (outcome.kind === "issues") return { kind: "wrong", errors: outcome.issues.map(describeIssue) };
  const demand = storageDemand(outcome.value);
  return demand === undefined
    ? { kind: "right", value: outcome.value }
    : { kind: "wrong", errors: [`it must be ${demand}`] };
}

function describeIssue({ path, message }: SchemaIssue): string {
  return path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
}

/** Undefined if none of the name can be kept. */
function legalName(given: unknown): string | undefined {
  const name = String(given ?? "")
    .replaceAll(/[^a-zA-Z0-9_-]+/g, "_")
    .replace(/^[^a-zA-Z]+/, "")
    .slice(0, 64);
  return typeof given !== "string" || name === "" ? undefined : name;
}

/*
 * What is wrong with a structured response. LangChain's errors of these names have the same fields and messages.
 */

/** A structured response that does not match its schema. */
export class StructuredOutputParsingError extends TetherError {
  override readonly name = "StructuredOutputParsingError";
  /** The name of the format. */
  readonly toolName: string;
  /** What is wrong. Each entry names the field. */
  readonly errors: readonly string[];

  constructor(toolName: string, errors: readonly string[]) {
    const list = errors.map((error) => `\n  - ${error}`).join("");
    super("RESPONSE_NOT_IN_FORMAT", `Failed to parse structured output for tool '${toolName}':${list}.`);
    this.toolName = toolName;
    this.errors = errors;
  }
}

/** Several structured responses in one response of the model. */
export class MultipleStructuredOutputsError extends TetherError {
  override readonly name = "MultipleStructuredOutputsError";
  /** The name of the format, once for each call. */
  readonly toolNames: readonly string[];

  constructor(toolNames: readonly string[]) {
    super(
      "RESPONSE_NOT_IN_FORMAT",
      `The model has called multiple tools: ${toolNames.join(", ")} to return a structured output. This is not supported. Please provide a single structured output.`,
    );
    this.toolNames = toolNames;
  }
}
