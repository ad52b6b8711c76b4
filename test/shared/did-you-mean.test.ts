import { expect, it } from "vitest";
import { didYouMean, nearestOf } from "../../src/shared/text.js";

const NAMES = [
  "maxIterations",
  "maxToolCalls",
  "tools",
  "toolChoice",
  "google-genai",
  "google-vertexai",
  "openai",
];

it.each([
  ["maxIteration", "maxIterations"],
  ["max_iterations", "maxIterations"],
  ["MAXITERATIONS", "maxIterations"],
  ["tool", "tools"],
  ["opnai", "openai"],
  ["google", "google-genai"],
  ["max", undefined],
  ["prompt", undefined],
  ["", undefined],
  ["-", undefined],
  ["__proto__", undefined],
])("%j is near to %j", (given, nearest) => {
  expect(nearestOf(given, NAMES)).toBe(nearest);
});

it("An error gets a question if a known name is near, and nothing otherwise.", () => {
  expect(didYouMean("tool", NAMES)).toBe(" Did you mean `tools`?");
  expect(didYouMean("weather", NAMES)).toBe("");
});
