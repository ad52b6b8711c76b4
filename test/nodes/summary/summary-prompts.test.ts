import { describe, expect, it } from "vitest";
import { summaryWording } from "../../../src/nodes/summary/summary-prompts.js";
import { SUMMARY_LANGUAGES } from "../../../src/settings/summary-settings.js";

it("There are an English and a Chinese wording, whose headings are pinned", () => {
  expect(SUMMARY_LANGUAGES).toEqual(["en", "zh"]);
  expect(summaryWording("en", {}).heading).toBe("## Summary of the conversation so far");
  expect(summaryWording("zh", {}).heading).toBe("## 对话历史摘要");
});

describe.each(SUMMARY_LANGUAGES)("A request in %s", (language) => {
  const { request } = summaryWording(language, {});

  it("has the summary so far and the transcript, to the letter", () => {
    const text = request("$& before", "$1 since");
    expect(text.indexOf("$& before")).toBeGreaterThan(0);
    expect(text.indexOf("$1 since")).toBeGreaterThan(text.indexOf("$& before"));
  });

  it("does not mention a summary if there is none", () => {
    expect(request("", "since")).not.toBe(request("x", "since").replace("x", ""));
    expect(request("", "since").endsWith("since")).toBe(true);
  });
});

it("One's own prompt and heading win, each for itself", () => {
  const builtIn = summaryWording("zh", {});
  expect(summaryWording("zh", { heading: "# H" })).toMatchObject({
    heading: "# H",
    instructions: builtIn.instructions,
  });
  expect(summaryWording("zh", { instructions: "Brief." })).toMatchObject({
    heading: builtIn.heading,
    instructions: "Brief.",
  });
});
