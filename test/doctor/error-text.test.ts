import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { errorText } from "../../src/doctor/thread-store.js";

const SECRET = "The secret word is fish";

it.each<[string, () => unknown]>([
  ["JSON.parse", () => JSON.parse(`{"content": ${SECRET}}`)],
  [
    "LangChain, of a value that is no message",
    () => coerceMessageLikeToMessage({ text: SECRET, role: "nobody" } as never),
  ],
  ["LangChain, of a list", () => coerceMessageLikeToMessage([SECRET, SECRET] as never)],
])("What %s says of a stored value has no text of it", (_, read) => {
  let thrown: unknown;
  try {
    read();
  } catch (error) {
    thrown = error;
  }
  expect(errorText(thrown)).toMatch(/\w{6}/);
  expect(errorText(thrown)).not.toContain("fish");
});
