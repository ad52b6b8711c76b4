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
  it.each<[line: string, command: TypedCommand | undefined]>([
    ["/quit", { name: "quit", words: "" }],
    ["/quit now", { name: "quit", words: "now" }],
    ["  /aprove  it ", { name: "aprove", words: "it" }],
    ["/edit {\n}", { name: "edit", words: "{\n}" }],
    ["/", { name: "", words: "" }],
    ["/etc/hosts is what?", undefined],
    ["// a comment", undefined],
    ["what does /quit do?", undefined],
  ])("reads %s", (line, command) => {
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

  it.each<[line: string, typed: TypedDecision]>([
    [
      "/approve but less",
      mistake("/approve takes no text. Use /edit to change the call, or /reject to say why not."),
    ],
  ])("reads %s", (line, typed) => {
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
});
