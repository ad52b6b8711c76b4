import { describe, expect, it } from "vitest";
import {
  type Question,
  questionLines,
  readDecision,
  type TypedDecision,
} from "../../scripts/chat/approval.js";
import { readCommand, type TypedCommand } from "../../scripts/chat/command.js";
import { approvalRequest } from "../../src/agent/approval-request.js";
import { ANY_DECISION, type ApprovalRule } from "../../src/agent/approval-rules.js";
import type { ToolTask } from "../../src/threads/langgraph/read-checkpoints.js";

describe("readCommand", () => {
  it.each<{ line: string; command: TypedCommand | undefined }>([
    { line: "/quit", command: { name: "quit", words: "" } },
    { line: "/quit now", command: { name: "quit", words: "now" } },
    { line: "  /aprove  it ", command: { name: "aprove", words: "it" } },
    { line: "/edit {\n}", command: { name: "edit", words: "{\n}" } },
    { line: "/", command: { name: "", words: "" } },
    { line: "/etc/hosts is what?", command: undefined },
    { line: "// a comment", command: undefined },
    { line: "what does /quit do?", command: undefined },
  ])("reads $line", ({ line, command }) => {
    expect(readCommand(line)).toEqual(command);
  });
});

describe("readDecision", () => {
  const pay: ToolTask = {
    call: { id: "c1", name: "pay", kind: "valid" },
    index: 0,
    place: "m:0",
    args: { amount: 1 },
    parseError: undefined,
  };
  const questionOf = (rule: ApprovalRule): Question => ({
    id: "i1",
    request: approvalRequest([pay], undefined, () => rule),
  });
  const question = questionOf(ANY_DECISION);
  const mistake = (message: string): TypedDecision => ({ kind: "mistake", message });

  it.each<{ line: string; typed: TypedDecision }>([
    { line: "/approve", typed: { kind: "decision", decision: { type: "approve" } } },
    {
      line: "/approve but less",
      typed: mistake("/approve takes no text. Use /edit to change the call, or /reject to say why not."),
    },
    {
      line: "/reject too much",
      typed: { kind: "decision", decision: { type: "reject", message: "too much" } },
    },
    {
      line: '/edit {"amount": 2}',
      typed: {
        kind: "decision",
        decision: { type: "edit", edited_action: { name: "pay", args: { amount: 2 } } },
      },
    },
    { line: "/edit 2", typed: mistake("/edit needs the arguments as a JSON object.") },
    { line: "/help", typed: { kind: "other" } },
  ])("reads $line", ({ line, typed }) => {
    expect(readDecision(readCommand(line) ?? { name: "", words: "" }, question)).toEqual(typed);
  });

  it("takes only the decisions that the tool allows", () => {
    const narrow = questionOf({ ...ANY_DECISION, allowedDecisions: ["reject", "approve"] });
    expect(readDecision({ name: "approve", words: "" }, narrow).kind).toBe("decision");
    expect(readDecision({ name: "edit", words: "{}" }, narrow)).toEqual(
      mistake("This call takes only /approve or /reject."),
    );
    expect(questionLines(narrow).at(-1)).toBe("/approve or /reject; /help explains them");
  });

  it("says that nothing waits", () => {
    expect(readDecision({ name: "approve", words: "" }, undefined)).toEqual(
      mistake("No tool call waits for your approval."),
    );
  });
});
