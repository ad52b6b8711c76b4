import { expect, it } from "vitest";
import { createCalculatorTool } from "../../../src/deploy/tools/calculator.js";

const calculator = createCalculatorTool();

it.each([
  ["12*(3+4)", "84"],
  ["0.1 + 0.2", "0.3"],
  ["2^10", "1024"],
  ["root(16)", "4"],
])("calculates %s as %s", async (input, value) => {
  expect(await calculator.invoke({ input })).toBe(value);
});

it.each([
  ["twelve", /"twelve" is not an expression/],
  ["", /"" is not an expression/],
  ["process.exit()", /is not an expression/],
  ["1/0", /"1\/0" has no finite result/],
  ["0/0", /"0\/0" has no finite result/],
])("refuses the expression %j", async (input, message) => {
  await expect(calculator.invoke({ input })).rejects.toThrow(message);
});
