import { expect, it } from "vitest";
import { findSettingError } from "../../scripts/demo/find-setting-error.js";

const printed = (error: string) => `The development server failed to start. It printed:
info:    ▪ Starting server...
${error}
    at Function.expected (/home/me/src/errors.ts:57:12)
      55 |
    > 57 |     return new InvalidSettingError(
`;

it.each([
  ["InvalidSettingError", 'Expected `MAX_ITERATIONS` to be an integer of 1 or more, got `"zero"`.'],
  ["InvalidModelError", "Expected a model as `provider:model`, got `nonsense`."],
])("What %s says of a setting is found in the output of the server", (name, message) => {
  expect(findSettingError(printed(`error:   ▪ ${name}: ${message}`))).toBe(message);
});

it("Nothing is found if the server failed for another reason", () => {
  expect(findSettingError(printed("error:   ▪ SyntaxError: Unexpected token"))).toBeUndefined();
});
