import { describe, expect, it } from "vitest";
import { createCalculatorTool } from "../../../server/tools/calculator.js";

const calculator = createCalculatorTool();

it.each([
  ["12*(3+4)", "84"],
  ["0.1 + 0.2", "0.3"],
  ["-3 + +4", "1"],
  ["2^10", "1024"],
  ["2^3^2", "512"],
  ["-2^2", "-4"],
  ["10 % 4", "2"],
  ["1/3", "0.333333333333333"],
  [".5 + 5.", "5.5"],
  ["9007199254740991", "9007199254740991"],
])("calculates %s as %s", async (input, value) => {
  expect(await calculator.invoke({ input })).toBe(value);
});

describe("a number with an exponent", () => {
  it.each([
    ["1e3*2", "2000"],
    ["1E3*2", "2000"],
    ["2e-3", "0.002"],
    ["1.5e2+1", "151"],
    ["1e+2", "100"],
    ["1e308/1e306", "100"],
    ["1e-7", "1e-7"],
  ])("is read and written: %s is %s", async (input, value) => {
    expect(await calculator.invoke({ input })).toBe(value);
  });
});

describe("an expression that is refused:", () => {
  it.each([
    "twelve",
    "",
    "process.exit()",
    "1 2",
    "3 x 4",
    "2(3)",
    "1,000+1",
    "50%",
    "1e",
    "e3",
    "1e3e3",
    "'a'",
    "[1,2]",
    "[1,2][0]",
    "a=5",
    "f(x)=f(x+1);f(1)",
    "x => x",
    "map(abs, [1])",
    "1;2",
    "1==1",
    "1<2 ? 3 : 4",
    "true",
    "random()",
    "abs",
    "toString",
    "toString()",
    "constructor",
    "constructor('return 1')()",
    "__proto__",
    "hasOwnProperty(1)",
    "abs.constructor",
    "this",
    "(".repeat(999),
  ])("%j", async (input) => {
    await expect(calculator.invoke({ input })).rejects.toThrow(
      `"${input}" is not an expression that the calculator knows`,
    );
  });

  it.each(["1/0", "0/0", "1e308*10", "9^9^9", "1e999"])("%j, without a finite result", async (input) => {
    await expect(calculator.invoke({ input })).rejects.toThrow(`"${input}" has no finite result.`);
  });

  it("one that is too long", async () => {
    await expect(calculator.invoke({ input: "1+".repeat(500) + 1 })).rejects.toThrow(
      "expected string to have <=1000",
    );
  });
});
