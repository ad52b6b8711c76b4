import { expect, it } from "vitest";
import { createPage } from "../../scripts/demo/page.js";

function pageOf(columns: number, isTTY = false) {
  let output = "";
  const write = (text: string) => {
    output += text;
  };
  return { page: createPage({ columns, isTTY, write }), output: () => output };
}

it.each<[title: string, text: string, lines: string[]]>([
  ["a short text as it is", "one two", ["one two"]],
  [
    "a text between words",
    `${"word ".repeat(8).trim()} 1234 next`,
    ["word word word word word word word word", "1234 next"],
  ],
  ["a text that fits to the last column", `${"x".repeat(38)} y z`, [`${"x".repeat(38)} y`, "z"]],
  ["a step below its words", `  ✗ ${"x".repeat(36)} next`, [`  ✗ ${"x".repeat(36)}`, "    next"]],
  ["a word that is longer than a line", `a ${"x".repeat(50)} b`, ["a", "x".repeat(50), "b"]],
])("A paragraph breaks %s", (_title, text, lines) => {
  const { page, output } = pageOf(40);
  page.paragraph(text);
  expect(output()).toBe(`${lines.join("\n")}\n`);
});

it("A page of a pipe has no colours, whatever it prints", () => {
  const { page, output } = pageOf(200);
  page.heading("Title");
  page.line(page.style("red", "words"));
  expect([page.width, output()]).toEqual([100, "\nTitle\n─────\nwords\n"]);
});
