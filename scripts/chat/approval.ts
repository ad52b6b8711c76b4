/** A tool call that waits for the user's approval: its display, and the commands for it. */

import type { Interrupt, ThreadState } from "@langchain/langgraph-sdk";
import type { ApprovalRequest, Decision } from "../../src/agent/approval-request.js";
import { listWithOr } from "../../src/shared/text.js";
import { describeCall } from "../terminal/describe.js";
import type { TypedCommand } from "./command.js";

/** The calls of one interrupt. The first one is decided next. */
export interface Question {
  /** The id of the interrupt. A decision names the interrupt that it belongs to. */
  readonly id: string;
  readonly request: ApprovalRequest;
}

/** The user's input: a decision, a mistake, or something else. */
export type TypedDecision =
  | { readonly kind: "decision"; readonly decision: Decision }
  | { readonly kind: "mistake"; readonly message: string }
  | { readonly kind: "other" };

export function findQuestion({ tasks }: Pick<ThreadState, "tasks">): Question | undefined {
  const interrupts = tasks.flatMap((task) => task.interrupts as Interrupt<ApprovalRequest>[]);
  for (const { id, value } of interrupts) {
    if (id !== undefined && Array.isArray(value?.action_requests)) return { id, request: value };
  }
  return undefined;
}

/** The call that is decided next, and what was wrong with the last decision. */
export function questionLines({ request }: Question): string[] {
  const { action_requests, problem } = request;
  const [next] = action_requests;
  if (next === undefined) return [];
  const more = action_requests.length - 1;
  return [
    ...(problem === undefined ? [] : [problem]),
    `${describeCall(next)} waits for your approval${more === 0 ? "" : `, and ${more} more`}`,
    `${listCommands(request)}; /help explains ${allowedCommands(request).length === 1 ? "it" : "them"}`,
  ];
}

const COMMANDS = ["approve", "reject", "edit", "respond"] as const;

/** The commands for the call that is decided next. A tool can allow some of them only. */
function allowedCommands({ review_configs: [config] }: ApprovalRequest): readonly string[] {
  const allowed: readonly string[] = config?.allowed_decisions ?? COMMANDS;
  return COMMANDS.filter((name) => allowed.includes(name));
}

function listCommands(request: ApprovalRequest): string {
  return listWithOr(allowedCommands(request).map((name) => `/${name}`));
}

/** @returns the user's decision on the first call of the question. */
export function readDecision({ name, words }: TypedCommand, question: Question | undefined): TypedDecision {
  if (!COMMANDS.some((command) => command === name)) return { kind: "other" };
  const [next] = question?.request.action_requests ?? [];
  if (question === undefined || next === undefined)
    return { kind: "mistake", message: "No tool call waits for your approval." };
  if (!allowedCommands(question.request).includes(name))
    return { kind: "mistake", message: `This call takes only ${listCommands(question.request)}.` };
  switch (name) {
    case "approve":
      // The text may be a condition, but the call would run at once.
      if (words !== "")
        return {
          kind: "mistake",
          message: "/approve takes no text. Use /edit to change the call, or /reject to say why not.",
        };
      return { kind: "decision", decision: { type: "approve" } };
    case "reject":
      return { kind: "decision", decision: { type: "reject", ...(words !== "" && { message: words }) } };
    case "respond":
      if (words === "") return { kind: "mistake", message: "/respond needs a text: the result of the call." };
      return { kind: "decision", decision: { type: "respond", message: words } };
    default: {
      const args = readArguments(words);
      if (args === undefined)
        return { kind: "mistake", message: "/edit needs the arguments as a JSON object." };
      return { kind: "decision", decision: { type: "edit", edited_action: { name: next.name, args } } };
    }
  }
}

function readArguments(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
