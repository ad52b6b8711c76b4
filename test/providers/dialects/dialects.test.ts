import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { DIALECTS } from "../../../src/providers/dialects.js";
import type { Rule } from "../../../src/providers/rule.js";
import { validateHistory } from "../../../src/providers/validate-history.js";

/** A page on GitHub: an issue, a pull request, or a file. */
const PAGE = /^[\w.-]+\/[\w.-]+\/(?:issues\/\d+|pull\/\d+|blob\/\S+)$/;

describe.each(Object.entries(DIALECTS))("%s", (_, { rules }) => {
  const entries: [string, Rule][] = Object.entries(rules);
  it.each(entries)("has a source for %s unless it is inferred", (_name, { grade, source }) => {
    if (grade === "inferred") expect(source).toBeUndefined();
    else expect(source).toMatch(PAGE);
  });
});

it.each(["anthropic", "strict"] as const)("%s sees a call that is only a block of the content", (dialect) => {
  const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
  const history = [new HumanMessage("go"), new AIMessage({ content: [call] }), new HumanMessage("and now?")];
  expect(validateHistory(history, dialect).map(({ rule }) => rule)).toContain("missing-result");
});
