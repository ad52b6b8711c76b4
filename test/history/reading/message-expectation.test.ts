import { AIMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { InvalidMessageError } from "../../../src/errors.js";
import { parseMessages } from "../../../src/history/messages-schema.js";

const ROLES =
  "a message whose `role` or `type` is one of user, assistant, system, developer, tool, human, ai";
const A_MESSAGE = "a message (a string, or an object with `role` or `type`)";

const refused: readonly (readonly [value: unknown, expectation: string, hint: string])[] = [
  [{ role: "usr", content: "hi" }, ROLES, " Did you mean `user`?"],
  [{ role: "User", content: "hi" }, ROLES, " Did you mean `user`?"],
  [{ role: "asistant", content: "hi" }, ROLES, " Did you mean `assistant`?"],
  [{ type: "sistem", content: "hi" }, ROLES, " Did you mean `system`?"],
  [["usr", "hi"], ROLES, " Did you mean `user`?"],
  [{ role: "weather", content: "hi" }, ROLES, ""],
  [{ role: "tool", content: "a result without its call" }, A_MESSAGE, ""],
  [{ text: "hi" }, A_MESSAGE, ""],
  [{ role: 7, content: "hi" }, A_MESSAGE, ""],
  [null, A_MESSAGE, ""],
];

it.each(refused)("%j is refused with the known roles", (value, expectation, hint) => {
  const message = `Expected \`messages[1]\` to be ${expectation}, got \`${JSON.stringify(value)}\`.${hint}`;
  const parse = () => parseMessages([new AIMessage("first"), value]);
  expect(parse).toThrow(InvalidMessageError);
  expect(parse).toThrow(message);
});
