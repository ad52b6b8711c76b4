import { Validator } from "@langchain/core/utils/json_schema";
import { interopSafeParseAsync, isInteropZodSchema } from "@langchain/core/utils/types";

/** Why a tool would refuse its arguments. */
export interface ArgumentIssue {
  /** Where in the arguments; empty for the arguments as a whole. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The first fault that the schema of a tool finds: one of zod or, as tools of MCP servers have it, a JSON schema. */
export async function findArgumentIssue(schema: unknown, args: object): Promise<ArgumentIssue | undefined> {
  if (isInteropZodSchema(schema)) {
    const { success, error } = await interopSafeParseAsync(schema, args);
    return success ? undefined : error.issues[0];
  }
  if (typeof schema !== "object" || schema === null) return undefined;
  const { valid, errors } = new Validator(schema).validate(args);
  if (valid) return undefined;
  // The last one is the innermost; those before it say that its parents are not valid, either.
  const { instanceLocation = "#", error = "not valid" } = errors.at(-1) ?? {};
  return { path: instanceLocation.split("/").slice(1).map(readSegment), message: error };
}

/** A JSON pointer writes `~` and `/` as `~0` and `~1`. */
function readSegment(segment: string): string {
  return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
}
