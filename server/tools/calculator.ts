import { tool } from "@langchain/core/tools";
import { Parser } from "expr-eval-fork";
import { z } from "zod/v4";
import { safely } from "../../src/shared/json.js";

const LONGEST_INPUT = 1000;
/** The parser also knows lists, conditions, assignments and several expressions in one text. */
const CHARACTERS = /^[\w\s.,+\-*/^%!()]*$/;
/** The last digits of a floating-point number are not exact: `0.1 + 0.2` is 0.30000000000000004. */
const EXACT_DIGITS = 15;

/** The only names that an expression can use. */
const CONSTANTS = { pi: Math.PI, e: Math.E } as const;
const FUNCTIONS = {
  sqrt: Math.sqrt,
  root: Math.sqrt,
  cbrt: Math.cbrt,
  abs: Math.abs,
  round: Math.round,
  floor: Math.floor,
  ceil: Math.ceil,
  exp: Math.exp,
  ln: Math.log,
  log: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  min: Math.min,
  max: Math.max,
} as const;

const calculatorSchema = z.object({
  input: z
    .string()
    .max(LONGEST_INPUT)
    .describe(
      "An expression of numbers, + - * / ^, % (the remainder), parentheses, pi, e and functions such as sqrt(16), as in " +
        `12*(3+4) or 1.5e3/7. log is the decimal logarithm and ln the natural one. The functions: ${Object.keys(FUNCTIONS).join(", ")}.`,
    ),
});

/** A calculator of numbers. It throws an error for any other expression. */
export function createCalculatorTool() {
  const parser = createParser();
  return tool(
    async ({ input }) => {
      const value = evaluate(parser, input);
      if (value === undefined)
        throw new Error(
          `"${input}" is not an expression that the calculator knows. Expected one such as "12*(3+4)".`,
        );
      if (!Number.isFinite(value)) throw new Error(`"${input}" has no finite result.`);
      return format(value);
    },
    {
      name: "calculator",
      description: "Calculates the value of a mathematical expression.",
      schema: calculatorSchema,
    },
  );
}

/** A parser of numbers alone, without variables and without functions that an expression defines. */
function createParser(): Parser {
  const parser = new Parser({ allowMemberAccess: false });
  // Without prototypes, so that `toString` is not a name.
  parser.consts = withoutPrototype(CONSTANTS);
  parser.functions = withoutPrototype(FUNCTIONS);
  const { "-": minus, "+": plus, "!": factorial } = parser.unaryOps;
  parser.unaryOps = withoutPrototype({ "-": minus, "+": plus, "!": factorial });
  return parser;
}

function withoutPrototype(members: object): object {
  return Object.assign(Object.create(null), members);
}

/** Undefined if the expression cannot be read, or if its value is not a number. */
function evaluate(parser: Parser, expression: string): number | undefined {
  const value: unknown = CHARACTERS.test(expression) && safely(() => parser.evaluate(expression));
  return typeof value === "number" ? value : undefined;
}

/** An integer that is too large to be exact is written with an exponent, and not with digits that are wrong. */
function format(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  const digits = value.toPrecision(EXACT_DIGITS);
  // `1.50000000000000e+20` becomes `1.5e+20`.
  const exponential = digits.replace(/\.?0*(?=e|$)/, "");
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? exponential : String(Number(digits));
}
