/**
 * The question to a human about tool calls, in the format of Studio and agent-chat-ui, and the decisions it accepts.
 */

import { z } from "zod";
import { isRecord } from "../../shared/is-record.js";
import { isToolTask, type ToolTask } from "../tools/tool-task.js";

/**
 * The input of the approve node: the calls of one batch that need a human. It is JSON, because checkpoints store it.
 */
export interface ApprovalTask {
  /** The id of the message with the calls. */
  readonly messageId: string;
  readonly tasks: readonly ToolTask[];
  /** What was wrong with the last decision, if the question is repeated. */
  readonly problem?: string | undefined;
}

export function isApprovalTask(value: unknown): value is ApprovalTask {
  if (!isRecord(value)) return false;
  const { messageId, tasks } = value;
  return typeof messageId === "string" && Array.isArray(tasks) && tasks.every(isToolTask);
}

const DECISIONS = ["approve", "edit", "reject", "respond"] as const;

/** The value of an interrupt that asks a human about tool calls. */
export interface ApprovalRequest {
  /** The calls, in call order. */
  readonly action_requests: readonly ActionRequest[];
  /** The decisions that are allowed for each call. */
  readonly review_configs: readonly ReviewConfig[];
  /** What was wrong with the last decision. Each `description` also ends with it. */
  readonly problem?: string;
}

interface RefusedAnswer {
  readonly kind: "refused";
  readonly problem: string;
}

export interface ActionRequest {
  /** The id of the tool call. */
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly description: string;
}

export interface ReviewConfig {
  readonly action_name: string;
  readonly allowed_decisions: readonly (typeof DECISIONS)[number][];
}

export function approvalRequest(tasks: readonly ToolTask[], problem: string | undefined): ApprovalRequest {
  // Chat UIs show the description but not `problem`.
  const refusal = problem === undefined ? "" : `\n\nThe last decision was not used: ${problem}`;
  return {
    action_requests: tasks.map(({ call, args = {} }) => ({
      id: call.id,
      name: call.name,
      args,
      description: `The assistant wants to call \`${call.name}\`.${refusal}`,
    })),
    review_configs: tasks.map(({ call }) => ({ action_name: call.name, allowed_decisions: DECISIONS })),
    ...(problem !== undefined && { problem }),
  };
}

const askedSchema = z.object({
  value: z.object({
    action_requests: z.array(
      z.object({ id: z.string(), name: z.string(), args: z.record(z.string(), z.unknown()) }),
    ),
  }),
});

/** A call that a human was asked about. */
export type AskedCall = Pick<ActionRequest, "id" | "name" | "args">;

/** The calls that pending interrupts ask about. Empty if they ask for something else. */
export function askedCalls(interrupts: unknown): AskedCall[] {
  return [interrupts].flat().flatMap((entry) => {
    const { data } = askedSchema.safeParse(entry);
    return data?.value.action_requests ?? [];
  });
}

const actionSchema = z.strictObject({ name: z.string(), args: z.record(z.string(), z.unknown()) });

/** LangChain's JavaScript spelling `editedAction` is accepted too, see `inOneSpelling`. */
const decisionSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("approve") }),
  z.strictObject({ type: z.literal("edit"), edited_action: actionSchema }),
  z.strictObject({ type: z.literal("reject"), message: z.string().optional() }),
  z.strictObject({ type: z.literal("respond"), message: z.string() }),
]);

/**
 * - `approve`: runs the call unchanged.
 * - `edit`: runs the call with other arguments. The tool cannot change.
 * - `reject`: does not run the call. The model is told so, with the reason.
 * - `respond`: does not run the call. The text is its result.
 */
export type Decision = z.infer<typeof decisionSchema>;

const answerSchema = z.strictObject({ decisions: z.array(decisionSchema).min(1) });

export type ReadAnswer =
  | { readonly kind: "decisions"; readonly decisions: readonly Decision[] }
  | RefusedAnswer;

/**
 * Accepts all decisions or none. `decisions[i]` is for `action_requests[i]`. There can be fewer decisions than
 * requests.
 */
export function readAnswer(answer: unknown, tasks: readonly ToolTask[]): ReadAnswer {
  const { success, data, error } = answerSchema.safeParse(inOneSpelling(answer));
  if (!success) {
    const [issue] = error.issues;
    return refuseAnswer(`\`${issue?.path.join(".") || "resume"}\`: ${issue?.message}`);
  }
  const { decisions } = data;
  if (decisions.length > tasks.length) {
    return refuseAnswer(`${decisions.length} decisions for ${tasks.length} requests`);
  }
  for (const [index, decision] of decisions.entries()) {
    const asked = tasks[index]?.call.name;
    if (decision.type !== "edit" || decision.edited_action.name === asked) continue;
    return refuseAnswer(
      `\`decisions.${index}.edited_action.name\` is \`${decision.edited_action.name}\`, but the request is for \`${asked}\``,
    );
  }
  return { kind: "decisions", decisions };
}

/** Follows the problem. A chat UI shows the text to a user who did not write the JSON. */
const EXPECTED =
  'Expected { decisions: [...] }, at most one for each request, in the order of the requests: { type: "approve" }, { type: "edit", edited_action: { name, args } }, { type: "reject", message? } or { type: "respond", message }';

export function refuseAnswer(what: string): RefusedAnswer {
  return { kind: "refused", problem: `${what}. ${EXPECTED}.` };
}

function inOneSpelling(answer: unknown): unknown {
  if (!isRecord(answer) || !Array.isArray(answer["decisions"])) return answer;
  return { ...answer, decisions: answer["decisions"].map(respell) };
}

function respell(decision: unknown): unknown {
  if (!isRecord(decision) || !("editedAction" in decision)) return decision;
  const { editedAction, ...rest } = decision;
  return { edited_action: editedAction, ...rest };
}
