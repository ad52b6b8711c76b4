/**
 * The question to a human about tool calls, and the decisions that it accepts. The question has two spellings of one
 * format: Studio, agent-chat-ui and Python read `action_requests`, and LangChain.js reads `actionRequests`.
 */

import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { z } from "zod/v4";
import { parseJson, toJson } from "../shared/json.js";
import { listWithOr } from "../shared/text.js";
import { isRecord } from "../shared/values.js";
import { problemText } from "../threads/close-calls.js";
import { isToolTask, type ToolTask } from "../threads/langgraph/read-checkpoints.js";
import { readWith, type SchemaIssue } from "../threads/schema.js";
import { type ApprovalRule, type AskedTask, DECISION_TYPES, type DecisionType } from "./approval-rules.js";

/**
 * The input of the approve node: the calls of one batch that need a human. It is JSON, because checkpoints store it.
 */
export interface ApprovalTask {
  /** The id of the message with the calls. */
  readonly messageId: string;
  readonly tasks: readonly AskedTask[];
  /** What was wrong with the last decision, if the question is repeated. */
  readonly problem?: string | undefined;
}

export function isApprovalTask(value: unknown): value is ApprovalTask {
  if (!isRecord(value)) return false;
  const { messageId, tasks } = value;
  return typeof messageId === "string" && Array.isArray(tasks) && tasks.every(isToolTask);
}

/** The value of an interrupt that asks a human about tool calls. The lists have the same entries in both spellings. */
export interface ApprovalRequest {
  /** The calls, in call order. */
  readonly action_requests: readonly ActionRequest[];
  /** The decisions that are allowed for each call. */
  readonly review_configs: readonly ReviewConfig[];
  /** The same as `action_requests`. */
  readonly actionRequests: readonly ActionRequest[];
  /** The same as `review_configs`. */
  readonly reviewConfigs: readonly ReviewConfig[];
  /** What was wrong with the last decision. Each `description` also ends with it. */
  readonly problem?: string;
}

interface RefusedAnswer {
  readonly kind: "refused";
  readonly problem: string;
}

interface ActionRequest {
  /** The id of the tool call. */
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly description: string;
}

/** Each entry has both spellings, because the LangGraph SDK replaces the list of one spelling with that of the other. */
interface ReviewConfig {
  readonly action_name: string;
  readonly actionName: string;
  readonly allowed_decisions: readonly DecisionType[];
  readonly allowedDecisions: readonly DecisionType[];
  /** The JSON schema that edited arguments must match, if the graph has one for this tool. */
  readonly args_schema?: JSONSchema;
  readonly argsSchema?: JSONSchema;
}

/** Contract: returns how a human is asked about the calls of a tool. */
type RuleFor = (toolName: string) => ApprovalRule;

export function approvalRequest(
  tasks: readonly AskedTask[],
  problem: string | undefined,
  ruleFor: RuleFor,
): ApprovalRequest {
  const requests = tasks.map(({ call, args = {}, description }) => ({
    id: call.id,
    name: call.name,
    args,
    description: `${description ?? `The assistant wants to call \`${call.name}\`.`}${problemText(problem)}`,
  }));
  const configs = tasks.map(({ call }) => reviewConfig(call.name, ruleFor(call.name)));
  return {
    action_requests: requests,
    review_configs: configs,
    actionRequests: requests,
    reviewConfigs: configs,
    ...(problem !== undefined && { problem }),
  };
}

function reviewConfig(name: string, { allowedDecisions, argsJsonSchema }: ApprovalRule): ReviewConfig {
  return {
    action_name: name,
    actionName: name,
    allowed_decisions: allowedDecisions,
    allowedDecisions,
    ...(argsJsonSchema !== undefined && { args_schema: argsJsonSchema, argsSchema: argsJsonSchema }),
  };
}

const actionSchema = z.strictObject({ name: z.string(), args: z.record(z.string(), z.unknown()) });

/**
 * - `approve`: runs the call unchanged.
 * - `edit`: runs the call with other arguments. The tool cannot change.
 * - `reject`: does not run the call. The model is told so, with the reason.
 * - `respond`: does not run the call. The text is its result.
 */
export type Decision =
  | { type: "approve" }
  | { type: "edit"; edited_action: { name: string; args: Record<string, unknown> } }
  | { type: "reject"; message?: string | undefined }
  | { type: "respond"; message: string };

/** LangChain's JavaScript spelling `editedAction` is accepted too, see `inOneSpelling`. */
const decisionSchema: z.ZodType<Decision> = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("approve") }),
  z.strictObject({ type: z.literal("edit"), edited_action: actionSchema }),
  z.strictObject({ type: z.literal("reject"), message: z.string().optional() }),
  z.strictObject({ type: z.literal("respond"), message: z.string() }),
]);

const answerSchema = z.strictObject({ decisions: z.array(decisionSchema).min(1) });

export type ReadAnswer =
  | { readonly kind: "decisions"; readonly decisions: readonly Decision[] }
  | RefusedAnswer;

/**
 * Accepts all decisions or none. `decisions[i]` is for `action_requests[i]`. There can be fewer decisions than
 * requests.
 */
export function readAnswer(answer: unknown, tasks: readonly ToolTask[], ruleFor: RuleFor): ReadAnswer {
  const refuse = (what: string) => refuseAnswer(what, tasks, ruleFor);
  const { success, data, error } = answerSchema.safeParse(inOneSpelling(answer));
  if (!success) {
    const [issue] = error.issues;
    return refuse(`\`${issue?.path.join(".") || "resume"}\`: ${issue?.message}`);
  }
  const { decisions } = data;
  if (decisions.length > tasks.length)
    return refuse(`${decisions.length} decisions for ${tasks.length} requests`);
  for (const [index, decision] of decisions.entries()) {
    const asked = tasks[index]?.call.name ?? "";
    const { allowedDecisions } = ruleFor(asked);
    if (!allowedDecisions.includes(decision.type)) {
      const allowed = listWithOr(allowedDecisions.map((type) => `\`${type}\``));
      return refuse(
        `\`decisions.${index}.type\` is \`${decision.type}\`, but \`${asked}\` allows only ${allowed}`,
      );
    }
    if (decision.type !== "edit" || decision.edited_action.name === asked) continue;
    return refuse(
      `\`decisions.${index}.edited_action.name\` is \`${decision.edited_action.name}\`, but the request is for \`${asked}\``,
    );
  }
  return { kind: "decisions", decisions };
}

const FORMS: Readonly<Record<DecisionType, string>> = {
  approve: '{ type: "approve" }',
  edit: '{ type: "edit", edited_action: { name, args } }',
  reject: '{ type: "reject", message? }',
  respond: '{ type: "respond", message }',
};

/** The end of the problem says what is expected. A chat UI shows it to a user who did not write the JSON. */
export function refuseAnswer(what: string, tasks: readonly ToolTask[], ruleFor: RuleFor): RefusedAnswer {
  const allowed = new Set(tasks.flatMap(({ call }) => ruleFor(call.name).allowedDecisions));
  const forms = DECISION_TYPES.filter((type) => allowed.has(type)).map((type) => FORMS[type]);
  const list = listWithOr(forms);
  return {
    kind: "refused",
    problem: `${what}. Expected { decisions: [...] }, at most one for each request, in the order of the requests: ${list}.`,
  };
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

type Arguments = Record<string, unknown>;

/**
 * Converts edited arguments to the types that the tool expects. A form of a chat UI returns every field as text:
 * `"7"` for 7, `"null"` for null. Text that the schema refuses is parsed as JSON. A field whose text equals its
 * former value was not edited, and keeps that value. All other text stays text.
 *
 * @param former The arguments before the edit.
 */
export async function readTextArguments(
  given: Arguments,
  former: Arguments,
  schema: unknown,
): Promise<Arguments> {
  let args: Arguments = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      isTextOf(value, former[name]) ? former[name] : value,
    ]),
  );
  let issue = await findArgumentIssue(schema, args);
  while (issue !== undefined) {
    const mended = withJsonAt(args, issue.path);
    if (mended === undefined) return args;
    const next = await findArgumentIssue(schema, mended as Arguments);
    if (next?.path.join() === issue.path.join()) return args;
    args = mended as Arguments;
    issue = next;
  }
  return args;
}

/** Whether this text is what a form returns if it shows the value as text and the user does not edit it. */
function isTextOf(text: unknown, value: unknown): boolean {
  if (typeof text !== "string" || typeof value === "string" || value === undefined) return false;
  return text === toJson(value) || text === JSON.stringify(value, undefined, 2);
}

/** The value with the text at a path parsed as JSON. Undefined if there is no text, or it is not JSON. */
function withJsonAt(value: unknown, path: readonly PropertyKey[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return readJson(value);
  if (Array.isArray(value)) {
    const index = Number(key);
    const item = withJsonAt(value[index], rest);
    return item === undefined ? undefined : value.with(index, item);
  }
  if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
  const field = withJsonAt(value[String(key)], rest);
  return field === undefined ? undefined : { ...value, [key]: field };
}

function readJson(text: unknown): unknown {
  const value = typeof text === "string" ? parseJson(text) : undefined;
  // A JSON string in the text would be refused again.
  return typeof value === "string" ? undefined : value;
}

/** The first fault that a tool's schema finds. Takes zod schemas and, as in tools of MCP servers, JSON schemas. */
export async function findArgumentIssue(schema: unknown, args: object): Promise<SchemaIssue | undefined> {
  const outcome = await readWith(schema, args);
  return outcome.kind === "issues" ? outcome.issues[0] : undefined;
}
