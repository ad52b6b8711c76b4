import { tool } from "@langchain/core/tools";
import { z } from "zod/v4";

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
      const value = evaluate(input);
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

/** The higher the rank, the earlier it is calculated. */
type Operator = readonly [rank: number, apply: (left: number, right: number) => number];

const OPERATORS: ReadonlyMap<string | undefined, Operator> = new Map<string, Operator>([
  ["+", [1, (left, right) => left + right]],
  ["-", [1, (left, right) => left - right]],
  ["*", [2, (left, right) => left * right]],
  ["/", [2, (left, right) => left / right]],
  ["%", [2, (left, right) => left % right]],
  ["^", [4, (left, right) => left ** right]],
]);
/** Between multiplication and `^`: `-2^2` is -4. */
const SIGN_RANK = 3;

function evaluate(input: string): number {
  const tokens = input.match(/\d+(?:\.\d+)?(?:e[+-]?\d+)?|\S/gi) ?? [];
  const value = read(0);
  if (tokens.length > 0 || Number.isNaN(value))
    throw new Error(
      `"${input}" is not an expression that the calculator knows. Expected one such as "12*(3+4)".`,
    );
  return value;

  /** Reads up to an operator of a lower rank. The value of what is no expression is not a number. */
  function read(least: number): number {
    const token = tokens.shift() ?? "";
    let value = /^\d/.test(token) ? Number(token) : Number.NaN;
    if (token === "-") value = -read(SIGN_RANK);
    if (token === "(") {
      value = read(0);
      if (tokens.shift() !== ")") return Number.NaN;
    }
    for (;;) {
      const [rank, apply] = OPERATORS.get(tokens[0]) ?? [-1, () => value];
      if (rank < least) return value;
      const isFromRight = tokens.shift() === "^";
      value = apply(value, read(isFromRight ? rank : rank + 1));
    }
  }
}
