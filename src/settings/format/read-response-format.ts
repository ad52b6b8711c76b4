import { z } from "zod/v4";
import { InvalidSettingError } from "../../errors.js";
import { isRecord } from "../../shared/is-record.js";
import type { Rule } from "../rule.js";
import type { ResponseFormat, ToolStrategyOptions } from "./response-format.js";
import { type Format, readSchema } from "./response-schema.js";

/** A checked response format. */
export interface FormatPlan {
  /** `"either"`: the provider's own way for a model that has it, else tool calls. */
  readonly strategy: "tool" | "provider" | "either";
  /** At least one. */
  readonly formats: readonly Format[];
  /** Whether the provider must keep every detail of the schema. Undefined: if the schema allows it. */
  readonly strict: boolean | undefined;
  readonly options: ToolStrategyOptions;
}

export const responseFormatRule = {
  schema: z.custom<ResponseFormat>((value) => typeof value === "object" || typeof value === "function"),
  expects: "a zod schema, a JSON schema, toolStrategy(…) or providerStrategy(…)",
} satisfies Rule;

/** @throws InvalidSettingError for a value that is not a response format, or a schema that no model could be given. */
export function readResponseFormat(given: ResponseFormat | undefined): FormatPlan | undefined {
  if (given === undefined || given === null) return undefined;
  const plan = { strict: undefined, options: {} };
  if (Array.isArray(given)) {
    const [first, ...others]: unknown[] = given;
    if (first === undefined) throw refused("a list of at least one schema");
    if (isProviderStrategy(first) && others.length === 0) return readResponseFormat(first as ResponseFormat);
    if (given.every(isLangChainTool))
      return {
        ...plan,
        strategy: "tool",
        formats: readAll(given.map(({ tool }) => tool.function)),
        options: readOptions(given[0]?.options),
      };
    return { ...plan, strategy: "tool", formats: readAll(given) };
  }
  if (isToolStrategy(given))
    return {
      ...plan,
      strategy: "tool",
      formats: readAll(given.schemas),
      options: readOptions(given.options),
    };
  if (isLangChainTool(given)) return readResponseFormat([given] as unknown as ResponseFormat);
  if (isProviderStrategy(given)) {
    const { schema, strict } = given;
    return {
      ...plan,
      strategy: "provider",
      formats: readAll([schema]),
      strict: typeof strict === "boolean" ? strict : undefined,
    };
  }
  return { ...plan, strategy: "either", formats: readAll([given]) };
}

function isToolStrategy(
  value: object,
): value is { readonly schemas: readonly unknown[]; readonly options: unknown } {
  return Reflect.get(value, "kind") === "tool-strategy" && Array.isArray(Reflect.get(value, "schemas"));
}

/** One entry of the list that LangChain's `toolStrategy` returns. */
function isLangChainTool(
  value: unknown,
): value is { readonly tool: { readonly function: unknown }; readonly options?: unknown } {
  return (
    isRecord(value) &&
    isRecord(value["tool"]) &&
    isRecord(value["tool"]["function"]) &&
    isRecord(value["schema"])
  );
}

/** Ours, or LangChain's. */
function isProviderStrategy(value: unknown): value is { readonly schema: unknown; readonly strict: unknown } {
  if (!isRecord(value)) return false;
  if (value["kind"] === "provider-strategy") return true;
  return (
    isRecord(value["schema"]) && typeof value["strict"] === "boolean" && typeof value["parse"] === "function"
  );
}

function readAll(schemas: readonly unknown[]): Format[] {
  if (schemas.length === 0) throw refused("a list of at least one schema");
  const formats = schemas.map((schema, index) => {
    const name = schemas.length === 1 ? "extract" : `extract_${index + 1}`;
    const format = readSchema(schema, name);
    if (typeof format === "string") throw refused(format, schema);
    return format;
  });
  return formats;
}

function readOptions(given: unknown): ToolStrategyOptions {
  if (given === undefined) return {};
  if (!isRecord(given)) throw refusedOption("options", "an object", given);
  const { handleError, toolMessageContent } = given;
  if (handleError !== undefined && !["boolean", "string", "function"].includes(typeof handleError))
    throw refusedOption("handleError", "true, false, a text or a function", handleError);
  if (toolMessageContent !== undefined && typeof toolMessageContent !== "string")
    throw refusedOption("toolMessageContent", "a text", toolMessageContent);
  return given as ToolStrategyOptions;
}

function refused(expectation: string, value?: unknown): InvalidSettingError {
  return InvalidSettingError.expected("responseFormat", expectation, value);
}

function refusedOption(name: string, expectation: string, value: unknown): InvalidSettingError {
  return InvalidSettingError.expected(`responseFormat.${name}`, expectation, value);
}
