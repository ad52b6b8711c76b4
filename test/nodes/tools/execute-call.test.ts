import { createRequire } from "node:module";
import * as imported from "@langchain/core/tools";
import { expect, it } from "vitest";
import { z } from "zod";
import { executeCall } from "../../../src/nodes/tools/execute-call.js";

const required: typeof imported = createRequire(import.meta.url)("@langchain/core/tools");

it.each([
  ["imported", imported],
  ["required", required],
])("Arguments that do not fit are told by name, also of a tool that was %s.", async (_, { tool }) => {
  const sky = tool(({ city }) => city, {
    name: "sky",
    description: "Looks at the sky.",
    schema: z.object({ city: z.string() }),
  });
  const outcome = await executeCall({ id: "call_1", name: "sky", args: { city: 3 } }, sky, {}, undefined);
  expect(outcome.kind).toBe("invalid-arguments");
  expect(outcome).toHaveProperty("detail", expect.stringContaining("city"));
});
