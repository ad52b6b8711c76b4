/** A tool that computes. */

import { tool } from "@langchain/core/tools";
import { Parser } from "expr-eval-fork";
import { z } from "zod/v4";
import { safely } from "../../src/shared/json.js";

/** The parser also knows names, functions, lists and assignments. The only allowed letter is a number's `e`. */
const EXPRESSION = /^(?:\d[eE](?=[-+\d])|[\d\s.+\-*/^%()])*$/;
const parser = new Parser();

const calculatorSchema = z.object({
  input: z
    .string()
    .max(1000)
    .describe("An expression of numbers, + - * / ^, % (the remainder) and parentheses, such as 12*(3+4)."),
});

/** A calculator of numbers. It throws an error for any other expression. */
export function createCalculatorTool() {
  return tool(
    async ({ input }) => {
      const value: unknown = EXPRESSION.test(input) && safely(() => parser.evaluate(input));
      if (typeof value !== "number")
        throw new Error(
          `"${input}" is not an expression that the calculator knows. Expected one such as "12*(3+4)".`,
        );
      if (!Number.isFinite(value)) throw new Error(`"${input}" has no finite result.`);
      // The last digits are not exact: `0.1 + 0.2` is 0.30000000000000004.
      return String(Number.isSafeInteger(value) ? value : Number(value.toPrecision(15)));
    },
    {
      name: "calculator",
      description: "Calculates the value of a mathematical expression.",
      schema: calculatorSchema,
    },
  );
}
