import { type ToolRuntime, tool } from "@langchain/core/tools";
import { z } from "zod";

/** A tool that is described by its name. @param schema Default: no arguments. */
export function makeTool<Schema extends z.ZodObject = z.ZodObject>(
  name: string,
  run: (args: z.output<Schema>, runtime: ToolRuntime) => unknown,
  schema?: Schema,
) {
  return tool(run as (args: Record<string, unknown>, runtime: ToolRuntime) => unknown, {
    name,
    description: name,
    schema: (schema ?? z.object({})) as z.ZodObject,
  });
}
