import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { REASONING_FIELD } from "../../../src/providers/deepseek/dialect.js";
import { DIALECT_NAMES, dialectNamed } from "../../../src/providers/dialects.js";
import { RULES } from "../../../src/providers/rule.js";

const CHECKS = readFileSync("src/providers/validate-history.ts", "utf8");

it.each(Object.keys(RULES))("a history is checked by the rule %s", (rule) => {
  expect(CHECKS).toContain(`"${rule}"`);
});

describe.each(DIALECT_NAMES)("what only the provider of %s can read", (name) => {
  it("is not sent to a model whose provider is unknown", () => {
    const kept = dialectNamed(name).stateFields.filter((field) => field.name !== REASONING_FIELD);
    expect(dialectNamed("strict").stateFields).toEqual(expect.arrayContaining(kept));
  });
});
