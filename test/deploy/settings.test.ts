import { describe, expect, it } from "vitest";
import { readSettings } from "../../src/deploy/settings.js";
import { InvalidSettingError } from "../../src/index.js";

describe("readSettings", () => {
  it("asks for no approval, leaves the choice to the model, and goes on after an unknown call", () => {
    expect(readSettings({ REQUIRE_APPROVAL: " ", TOOL_CHOICE: "" })).toMatchObject({
      REQUIRE_APPROVAL: [],
      TOOL_CHOICE: undefined,
      TERMINATE_ON_UNKNOWN_CALLS: false,
    });
  });

  it("reads names separated by commas", () => {
    const settings = readSettings({ REQUIRE_APPROVAL: " save_note, weather,,", MODELS: "offline:" });
    expect(settings).toMatchObject({ REQUIRE_APPROVAL: ["save_note", "weather"], MODELS: ["offline:"] });
  });

  it.each(["auto", "none", "required"])("takes %s as TOOL_CHOICE", (TOOL_CHOICE) => {
    expect(readSettings({ TOOL_CHOICE })).toMatchObject({ TOOL_CHOICE });
  });

  it.each([
    [{ TOOL_CHOICE: "maybe" }, 'Expected `TOOL_CHOICE` to be auto, none or required, got `"maybe"`.'],
    [
      { TERMINATE_ON_UNKNOWN_CALLS: "perhaps" },
      'Expected `TERMINATE_ON_UNKNOWN_CALLS` to be true or false, got `"perhaps"`.',
    ],
    [{ MAX_ITERATIONS: "0" }, 'Expected `MAX_ITERATIONS` to be an integer of 1 or more, got `"0"`.'],
  ])("refuses %j", (environment, message) => {
    const read = () => readSettings(environment);
    expect(read).toThrow(InvalidSettingError);
    expect(read).toThrow(message);
  });
});
