/** The setting `responseFormat`: how callers write it, and the type of the response. */

import type { MultipleStructuredOutputsError, StructuredOutputParsingError } from "./format-errors.js";
import type { ResponseSchema } from "./response-schema.js";

/** What is wrong with a structured response. */
export type StructuredOutputError = StructuredOutputParsingError | MultipleStructuredOutputsError;

/** The options of {@link toolStrategy}. */
export interface ToolStrategyOptions {
  /**
   * What the model reads about a structured response that does not match its schema, or about several of them at once.
   * `true`: what is wrong. A text: this text. A function: the text that it returns. Then the model is asked again.
   * `false`: the run fails with the error.
   *
   * Contract of the function: it is called once for each such response. If it throws, the run fails with what it threw.
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
  readonly schemas: readonly ResponseSchema[];
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

/** LangChain's `toolStrategy(…)`, of any copy of `langchain`. */
type LangChainToolStrategy = readonly {
  readonly tool: { readonly type: "function" };
  readonly schema: object;
}[];
/** LangChain's `providerStrategy(…)`, of any copy of `langchain`. */
interface LangChainProviderStrategy {
  readonly schema: object;
  readonly strict: boolean;
  parse(response: never): unknown;
}

/** The format of a run's final response: a schema, several schemas, or a strategy. */
export type ResponseFormat =
  | ResponseSchema
  | readonly ResponseSchema[]
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
    : Format extends readonly (infer Schema)[]
      ? ResponseIn<Schema>
      : Record<string, unknown>;

/**
 * A response format in which the model responds with a tool call: each schema is offered as a tool that is never run.
 * It works with every model that can call tools.
 *
 * @param schema The schema of the response, or a list of schemas of which the model chooses one. It describes an
 * object. Its `title` is the name of the tool.
 * @param options What the model reads about a wrong response, and the result of a right one.
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
export function toolStrategy<const Schema extends ResponseSchema | readonly ResponseSchema[]>(
  schema: Schema,
  options: ToolStrategyOptions = {},
): ToolStrategy<ResponseIn<Schema>> {
  return { kind: "tool-strategy", schemas: [schema].flat() as ResponseSchema[], options };
}

/**
 * A response format in which the provider itself makes the response match the schema. Not every model can do this, and
 * some cannot while they have tools.
 *
 * @param given The schema of the response, which describes an object. Or that schema and `strict`: whether the provider
 * must keep every detail of it. By default it must if the schema requires all of its fields.
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
  return isWithStrict(given)
    ? { kind: "provider-strategy", schema: given.schema, strict: given.strict }
    : { kind: "provider-strategy", schema: given, strict: undefined };
}

/** A JSON schema has a `type`, and a Standard Schema has its own mark. */
function isWithStrict<Schema extends ResponseSchema>(
  given: Schema | { readonly schema: Schema; readonly strict?: boolean | undefined },
): given is { readonly schema: Schema; readonly strict?: boolean | undefined } {
  return (
    typeof given === "object" &&
    "schema" in given &&
    typeof given.schema === "object" &&
    !("type" in given) &&
    !("~standard" in given)
  );
}
