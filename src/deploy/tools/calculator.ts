import { Calculator } from "@langchain/community/tools/calculator";
import { tool } from "@langchain/core/tools";
import { z } from "zod";

const calculatorSchema = z.object({
  input: z
    .string()
    .describe(
      "An expression of numbers, + - * / ^, parentheses and functions such as root(16), as in 12*(3+4).",
    ),
});

/** LangChain's calculator. For a bad expression it returns a sentence; this tool throws an error. */
export function createCalculatorTool() {
  const calculator = new Calculator();
  return tool(
    async ({ input }) => {
      // `invoke` would show as a second tool run within this one.
      const result = await calculator._call(input);
      if (Number.isFinite(Number(result))) return result;
      const isUnbounded = /^(?:-?Infinity|NaN)$/.test(result);
      throw new Error(
        isUnbounded
          ? `"${input}" has no finite result.`
          : `"${input}" is not an expression that the calculator knows. Expected one such as "12*(3+4)".`,
      );
    },
    {
      name: "calculator",
      description: "Calculates the value of a mathematical expression.",
      schema: calculatorSchema,
    },
  );
}
