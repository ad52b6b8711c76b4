import type { StructuredToolInterface } from "@langchain/core/tools";
import { Validator } from "@langchain/core/utils/json_schema";
import { interopSafeParseAsync, isInteropZodSchema } from "@langchain/core/utils/types";
import { type ReadAnswer, refuseAnswer } from "./approval-request.js";

type ToolsByName = ReadonlyMap<string, StructuredToolInterface>;

/** Arguments that the tool would refuse are asked for again: it was not the model that wrote them. */
export async function checkEdits(answer: ReadAnswer, toolsByName: ToolsByName): Promise<ReadAnswer> {
  if (answer.kind === "refused") return answer;
  for (const [index, decision] of answer.decisions.entries()) {
    if (decision.type !== "edit") continue;
    const { name, args } = decision.edited_action;
    const issue = await findIssue(toolsByName.get(name)?.schema, args);
    if (issue === undefined) continue;
    const place = ["decisions", index, "edited_action", "args", ...issue.path].join(".");
    return refuseAnswer(`\`${place}\`: ${issue.message}`);
  }
  return answer;
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** A tool has a schema of zod or, as tools of MCP servers do, a JSON schema. */
async function findIssue(schema: unknown, args: object): Promise<Issue | undefined> {
  if (isInteropZodSchema(schema)) {
    const { success, error } = await interopSafeParseAsync(schema, args);
    return success ? undefined : error.issues[0];
  }
  if (typeof schema !== "object" || schema === null) return undefined;
  const { valid, errors } = new Validator(schema).validate(args);
  if (valid) return undefined;
  // The last one is the innermost; those before it say that what holds it is not valid, either.
  const { instanceLocation = "#", error = "not valid" } = errors.at(-1) ?? {};
  return { path: instanceLocation.split("/").slice(1), message: error };
}
