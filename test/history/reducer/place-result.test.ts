import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { ai, result } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";

describe("A stored result that is written again for another call", () => {
  it("is stored once, even if a result before it moved in the same update", () => {
    const history = [ai("a", "c", "d", "d"), result("r", "d"), result("s", "d")];
    const { messages } = reduceMessages(history, [result("r", "c"), result("s", "c")]);
    expect(outline(messages)).toBe(outline([ai("a", "c", "d", "d"), result("s", "c")]));
  });
});
