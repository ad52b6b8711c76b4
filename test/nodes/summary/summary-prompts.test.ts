import { describe, expect, it } from "vitest";
import { summaryWording } from "../../../src/threads/summary.js";
import { SUMMARY_LANGUAGES } from "../../../src/threads/summary-settings.js";

it("There is an English and a Chinese wording with fixed headings", () => {
  expect(SUMMARY_LANGUAGES).toEqual(["en", "zh"]);
  expect(summaryWording("en", {}).heading).toBe("## Summary of the conversation so far");
  expect(summaryWording("zh", {}).heading).toBe("## 对话历史摘要");
});

describe.each(SUMMARY_LANGUAGES)("A request in %s", (language) => {
  const { request } = summaryWording(language, {});

  it("contains the summary so far and the transcript literally", () => {
    const text = request("$& before", "$1 since");
    expect(text.indexOf("$& before")).toBeGreaterThan(0);
    expect(text.indexOf("$1 since")).toBeGreaterThan(text.indexOf("$& before"));
  });

  it("does not mention a summary if there is none", () => {
    expect(request("", "since")).not.toBe(request("x", "since").replace("x", ""));
    expect(request("", "since").endsWith("since")).toBe(true);
  });
});

it("A custom prompt and a custom heading replace the defaults independently", () => {
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
