import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { assertNode } from "../../src/shared/check-node.js";

it.each(["20.19.0", "22.1.0", "100.0.0", undefined])("The version %s passes.", (version) => {
  expect(() => assertNode(version)).not.toThrow();
});

it("An old version gets a sentence.", () => {
  expect(() => assertNode("18.20.8")).toThrow(
    "langgraph-tether needs Node.js 20.19 or a later version, but this is Node.js 18.20.8.",
  );
});

it.each(["index", "history", "langchain", "doctor", "inspector", "cli"])(
  "The entry `%s` checks it before it loads anything else.",
  (entry) => {
    const text = readFileSync(new URL(`../../src/${entry}.ts`, import.meta.url), "utf8");
    expect(/^(?:im|ex)port .*/m.exec(text)?.[0]).toBe('import "./shared/check-node.js";');
  },
);
