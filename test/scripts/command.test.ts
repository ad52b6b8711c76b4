import { describe, expect, it } from "vitest";
import { type Question, questionLines, readDecision } from "../../scripts/chat/approval.js";
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
  it("takes no text with an approval", () => {
    const typed = readDecision({ name: "approve", words: "but less" }, questionOf(ANY_DECISION));
    const message = "/approve takes no text. Use /edit to change the call, or /reject to say why not.";
    expect(typed).toEqual({ kind: "mistake", message });
  });

  it("takes only the decisions that the tool allows", () => {
    const narrow = questionOf({ ...ANY_DECISION, allowedDecisions: ["reject", "approve"] });
    expect(readDecision({ name: "approve", words: "" }, narrow).kind).toBe("decision");
    const message = "This call takes only /approve or /reject.";
    expect(readDecision({ name: "edit", words: "{}" }, narrow)).toEqual({ kind: "mistake", message });
    expect(questionLines(narrow).at(-1)).toBe("/approve or /reject; /help explains them");
  });
});
