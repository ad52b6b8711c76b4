import { Validator } from "@langchain/core/utils/json_schema";
import { interopSafeParseAsync, isInteropZodSchema } from "@langchain/core/utils/types";

/** The reason why a tool would refuse its arguments. */
export interface ArgumentIssue {
  /** The path in the arguments. Empty for the arguments as a whole. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The first fault that a tool's schema finds. Takes zod schemas and, as in tools of MCP servers, JSON schemas. */
export async function findArgumentIssue(schema: unknown, args: object): Promise<ArgumentIssue | undefined> {
  if (isInteropZodSchema(schema)) {
    const { success, error } = await interopSafeParseAsync(schema, args);
    return success ? undefined : error.issues[0];
  }
  if (typeof schema !== "object" || schema === null) return undefined;
  const { valid, errors } = new Validator(schema).validate(args);
  if (valid) return undefined;
  // The last error is the innermost. The errors before it say that its parents are invalid too.
  const { instanceLocation = "#", error = "not valid" } = errors.at(-1) ?? {};
  return { path: instanceLocation.split("/").slice(1).map(readSegment), message: error };
}

/** In a JSON pointer, `~` and `/` are written as `~0` and `~1`. */
function readSegment(segment: string): string {
  return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
}
