import { describe, expect, it } from "vitest";
import { InvalidSettingError } from "../../../src/errors.js";
import { findSafeCutoff, type Keep } from "../../../src/history/cut.js";
import { messagesIn } from "../../support/make-messages.js";

describe("An invalid number is refused by name", () => {
  it.each<[Keep, string]>([
    [{ messages: -1 }, "Expected `messages` to be an integer of 0 or more, got `-1`."],
    [{ messages: 1.5 }, "Expected `messages` to be an integer of 0 or more, got `1.5`."],
    [{ tokens: Number.NaN }, "Expected `tokens` to be an integer of 0 or more, got `NaN`."],
    [
      { tokens: Number.POSITIVE_INFINITY },
      "Expected `tokens` to be an integer of 0 or more, got `Infinity`.",
    ],
  ])("%o", (keep, message) => {
    expect(() => findSafeCutoff(messagesIn("h a()"), keep)).toThrow(InvalidSettingError);
    expect(() => findSafeCutoff(messagesIn("h a()"), keep)).toThrow(message);
  });
});
