/**
 * The question to a human about tool calls, and the decisions that it accepts. Both follow LangChain.js, which reads
 * `actionRequests` and sends `editedAction`. agent-chat-ui reads `action_requests` and sends `edited_action`.
 */

import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { z } from "zod/v4";
import { parseJson, toJson } from "../../shared/json.js";
import { listWithOr } from "../../shared/text.js";
import { addToList, isRecord } from "../../shared/values.js";
import { problemText } from "../../threads/ended-runs/close-calls.js";
import type { ToolTask } from "../../threads/langgraph/read-checkpoints.js";
import { readWith, type SchemaIssue } from "../../threads/schema.js";
import {
  type ApprovalRule,
  type AskedTask,
  DECISION_TYPES,
  type DecisionType,
} from "../settings/approval-rules.js";

/** The input of the approve node: one batch's calls that need a human. It is JSON, because checkpoints store it. */
export interface ApprovalTask {
  readonly messageId: string;
  readonly tasks: readonly AskedTask[];
  /** What was wrong with the last decision, if the question is repeated. */
  readonly problem?: string | undefined;
  /** Whether the thread has asked about other calls before, so that a decision without a name may be meant for them. */
  readonly isFollowing?: boolean | undefined;
}

/**
 * The calls of a thread's first question, as its turn stores them; empty once the thread has asked about others too.
 *
 * @param asked The same before this question; undefined if there was none.
 */
export function questionWith(asked: string | undefined, tasks: readonly ToolTask[]): string {
  const places = toJson(tasks.map(({ place }) => place)) ?? "";
  return asked === undefined || asked === places ? places : "";
}

/** The value of an interrupt that asks a human about tool calls. Both spellings list the same entries. */
export interface ApprovalRequest {
  /** The calls, in call order. */
  readonly action_requests: readonly ActionRequest[];
  /** The decisions allowed for each call. */
  readonly review_configs: readonly ReviewConfig[];
  /** The same as `action_requests`. */
  readonly actionRequests: readonly ActionRequest[];
  /** The same as `review_configs`. */
  readonly reviewConfigs: readonly ReviewConfig[];
  /** What was wrong with the last decision. Each `description` also ends with it. */
  readonly problem?: string;
}

interface ActionRequest {
  /** The id of the tool call. A decision can name it as `tool_call_id`. */
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly description: string;
}

/** Each entry has both spellings, because the LangGraph SDK overwrites one spelling's list with the other's. */
interface ReviewConfig {
  readonly action_name: string;
  readonly actionName: string;
  readonly allowed_decisions: readonly DecisionType[];
  readonly allowedDecisions: readonly DecisionType[];
  /** The JSON schema for edited arguments, if the graph has one for this tool. */
  readonly argsSchema?: JSONSchema;
}

/** Contract: returns how a human is asked about the calls of a tool. */
type RuleFor = (toolName: string) => ApprovalRule;

export function approvalRequest(
  tasks: readonly AskedTask[],
  problem: string | undefined,
  ruleFor: RuleFor,
): ApprovalRequest {
  const requests = tasks.map(({ call: { id, name }, args = {}, description }) => {
    const question = description ?? `The assistant wants to call \`${name}\`.`;
    return { id, name, args, description: `${question}${problemText(problem)}` };
  });
  const configs = tasks.map(({ call: { name } }) => {
    const { allowedDecisions, argsJsonSchema } = ruleFor(name);
    return {
      action_name: name,
      actionName: name,
      allowed_decisions: allowedDecisions,
      allowedDecisions,
      ...(argsJsonSchema !== undefined && { argsSchema: argsJsonSchema }),
    };
  });
  return {
    action_requests: requests,
    review_configs: configs,
    actionRequests: requests,
    reviewConfigs: configs,
    ...(problem !== undefined && { problem }),
  };
}

/**
 * - `approve`: runs the call unchanged.
 * - `edit`: runs the call with other arguments. The tool stays the same.
 * - `reject`: does not run the call, and tells the model the reason.
 * - `respond`: does not run the call. The text is its result.
 *
 * With `tool_call_id`, the decision is for the call with this id. Without, it is for the call at its own place.
 */
export type Decision = { tool_call_id?: string | undefined } & (
  | { type: "approve" }
  | { type: "edit"; edited_action: { name: string; args: Record<string, unknown> } }
  | { type: "reject"; message?: string | undefined }
  | { type: "respond"; message: string }
);

const actionSchema = z.strictObject({ name: z.string(), args: z.record(z.string(), z.unknown()) });
const named = { tool_call_id: z.string().optional() };

const decisionSchema: z.ZodType<Decision> = z.discriminatedUnion("type", [
  z.strictObject({ ...named, type: z.literal("approve") }),
  z.strictObject({ ...named, type: z.literal("edit"), edited_action: actionSchema }),
  z.strictObject({ ...named, type: z.literal("reject"), message: z.string().optional() }),
  z.strictObject({ ...named, type: z.literal("respond"), message: z.string() }),
]);

const answerSchema = z.strictObject({
  decisions: z.array(z.preprocess(inOneSpelling, decisionSchema)).min(1),
  unnamed: z.literal(true).optional(),
});

/** An answer, marked as one that does not name its question. The mark is stored with it. */
export function asUnnamed(answer: Readonly<Record<string, unknown>>): object {
  return { ...answer, unnamed: true };
}

/** The answer as its client sent it. */
export function withoutMark(answer: unknown): unknown {
  if (!isRecord(answer)) return answer;
  const { unnamed: _, ...sent } = answer;
  return sent;
}

/** LangChain.js sends `editedAction`, agent-chat-ui `edited_action`, and LangGraph's SDK both. */
function inOneSpelling(decision: unknown): unknown {
  if (!isRecord(decision)) return decision;
  const { editedAction, toolCallId, ...rest } = decision;
  return {
    ...(editedAction !== undefined && { edited_action: editedAction }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...rest,
  };
}

export interface DecidedTask {
  readonly task: AskedTask;
  readonly decision: Decision;
}

export type ReadDecisions =
  | {
      readonly kind: "decisions";
      readonly decided: readonly DecidedTask[];
      /** The tasks without a decision. */
      readonly rest: readonly AskedTask[];
    }
  | { readonly kind: "refused"; readonly problem: string };

/** What an answer that does not name its question must tell, if the thread has asked others. */
interface Naming {
  readonly mustBeNamed: boolean;
  /** Whether an earlier call of the thread has the same id, so that the id does not name a call. */
  readonly isRepeated: (callId: string) => boolean;
}

/**
 * Accepts all decisions or none. A decision answers the request that it names, or else `decisions[i]` answers
 * `action_requests[i]`. There can be fewer decisions than requests. Edited arguments must match the schemas, because the
 * human wrote them.
 *
 * @param schemaOf Contract: returns a tool's schema. Undefined accepts all arguments.
 * @param naming Whether an answer that does not name its question must name its calls.
 */
export async function readDecisions(
  answer: unknown,
  tasks: readonly AskedTask[],
  ruleFor: RuleFor,
  schemaOf: (toolName: string) => unknown,
  { mustBeNamed, isRepeated }: Naming = { mustBeNamed: false, isRepeated: () => false },
): Promise<ReadDecisions> {
  const refuse = (what: string): ReadDecisions => ({
    kind: "refused",
    problem: `${what}. ${expectedDecisions(tasks, ruleFor)}`,
  });
  const { success, data, error } = answerSchema.safeParse(answer);
  if (!success) {
    const [issue] = error.issues;
    return refuse(`\`${issue?.path.join(".") || "resume"}\`: ${issue?.message}`);
  }
  const { decisions, unnamed = false } = data;
  if (unnamed && mustBeNamed) {
    const names = decisions.map(({ tool_call_id }) => tool_call_id);
    if (names.includes(undefined)) return { kind: "refused", problem: UNNAMED };
    const repeated = names.find((id) => id !== undefined && tasks.some(isOf(id)) && isRepeated(id));
    if (repeated !== undefined)
      return {
        kind: "refused",
        problem: `Earlier calls of this thread have the id \`${repeated}\` too. ${BY_ID}.`,
      };
  }
  const decided: DecidedTask[] = [];
  const open = new Set(tasks);
  for (const [index, decision] of decisions.entries()) {
    const place = `decisions.${index}`;
    const { tool_call_id: id } = decision;
    const [task, ...others] = id === undefined ? tasks.slice(index, index + 1) : tasks.filter(isOf(id));
    if (others.length > 0) return refuse(`\`${place}.tool_call_id\`: ${others.length + 1} requests have it`);
    if (task === undefined && id === undefined)
      return refuse(`${decisions.length} decisions for ${tasks.length} requests`);
    if (task === undefined) {
      const known = listWithOr(tasks.map(({ call }) => `\`${call.id}\``));
      return refuse(`\`${place}.tool_call_id\` is \`${id}\`, but the question is about ${known}`);
    }
    const { name } = task.call;
    if (!open.delete(task)) return refuse(`\`${place}\` is a second decision for \`${task.call.id}\``);
    const { allowedDecisions, argsSchema } = ruleFor(name);
    if (!allowedDecisions.includes(decision.type)) {
      const allowed = listWithOr(allowedDecisions.map((type) => `\`${type}\``));
      return refuse(`\`${place}.type\` is \`${decision.type}\`, but \`${name}\` allows only ${allowed}`);
    }
    if (decision.type !== "edit") {
      decided.push({ task, decision });
      continue;
    }
    const { name: edited, args: given } = decision.edited_action;
    if (edited !== name)
      return refuse(`\`${place}.edited_action.name\` is \`${edited}\`, but the request is for \`${name}\``);
    const schemas = [schemaOf(name), argsSchema];
    let args = given;
    for (const schema of schemas) args = await readTextArguments(args, task.args ?? {}, schema);
    for (const schema of schemas) {
      const [issue] = await findIssues(schema, args);
      if (issue === undefined) continue;
      const path = [place, "edited_action", "args", ...issue.path].join(".");
      return { kind: "refused", problem: `\`${path}\`: ${issue.message}` };
    }
    decided.push({ task, decision: { ...decision, edited_action: { name, args } } });
  }
  return { kind: "decisions", decided, rest: [...open] };
}

const isOf = (id: string) => (task: AskedTask) => task.call.id === id;

const BY_ID = "Answer by the question's id, { resume: { [id]: { decisions: [...] } } }";

const UNNAMED =
  "The decision does not say which question it answers, and this thread has asked others. " +
  `${BY_ID}, or name each call: { tool_call_id, type: ... }.`;

const FORMS: Readonly<Record<DecisionType, string>> = {
  approve: '{ type: "approve" }',
  edit: '{ type: "edit", edited_action: { name, args } }',
  reject: '{ type: "reject", message? }',
  respond: '{ type: "respond", message }',
};

/** What is expected, in words for a chat UI's user who did not write the JSON. */
export function expectedDecisions(tasks: readonly ToolTask[], ruleFor: RuleFor): string {
  const allowed = tasks.flatMap(({ call }) => ruleFor(call.name).allowedDecisions);
  const forms = DECISION_TYPES.filter((type) => allowed.includes(type)).map((type) => FORMS[type]);
  return `Expected { decisions: [...] }, at most one for each request, in the order of the requests: ${listWithOr(forms)}.`;
}

type Arguments = Record<string, unknown>;

/**
 * Converts edited arguments to the types that the tool expects. A chat UI's form returns every field as text: `"7"` for
 * 7, `"null"` for null. Text that the schema refuses is parsed as JSON. A field that still shows its former value was
 * not edited and keeps that value. All other text stays text.
 *
 * @param former The arguments before the edit.
 */
export async function readTextArguments(
  given: Arguments,
  former: Arguments,
  schema: unknown,
): Promise<Arguments> {
  const read = Object.entries(given).map(([name, value]) => [
    name,
    isTextOf(value, former[name]) ? former[name] : value,
  ]);
  let args: Arguments = Object.fromEntries(read);
  const tried = new Set<string>();
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
    const wrong = (await pathsOfIssues(schema, args)).filter((path) => !tried.has(path.join()));
    const repaired = withJsonAt(args, wrong);
    if (repaired === args) break;
    for (const path of wrong) tried.add(path.join());
    const still = new Set((await pathsOfIssues(schema, repaired)).map((path) => path.join()));
    args = withJsonAt(
      args,
      wrong.filter((path) => !still.has(path.join())),
    );
  }
  return args;
}

/** The JSON of a text can have texts inside that the schema refuses too. */
const MOST_ROUNDS = 8;

/** Whether a form that shows this value as text would return exactly this text. */
function isTextOf(text: unknown, value: unknown): boolean {
  if (typeof text !== "string" || typeof value === "string" || value === undefined) return false;
  return text === toJson(value) || text === JSON.stringify(value, undefined, 2);
}

type Path = readonly PropertyKey[];

/** The value with the texts at these paths parsed as JSON, as far as they are JSON. The same value if none is. */
function withJsonAt<Value>(value: Value, paths: readonly Path[]): Value {
  if (paths.some((path) => path.length === 0)) {
    const parsed = typeof value === "string" ? parseJson(value) : undefined;
    // The schema would refuse a JSON string again.
    return parsed === undefined || typeof parsed === "string" ? value : (parsed as Value);
  }
  if (!(isRecord(value) || Array.isArray(value))) return value;
  const inside = new Map<PropertyKey, Path[]>();
  for (const [key, ...rest] of paths)
    if (key !== undefined && Object.hasOwn(value, key)) addToList(inside, key, rest);
  const changes = [...inside].flatMap(([key, rests]) => {
    const part: unknown = Reflect.get(value, key);
    const read = withJsonAt(part, rests);
    return read === part ? [] : [[key, read] as const];
  });
  if (changes.length === 0) return value;
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Value & object;
  for (const [key, read] of changes) Reflect.set(copy, key, read);
  return copy;
}

/** The faults that a tool's schema finds. It can be a zod schema or, as in MCP tools, a JSON schema. */
async function findIssues(schema: unknown, args: object): Promise<readonly SchemaIssue[]> {
  const outcome = await readWith(schema, args);
  return outcome.kind === "issues" ? outcome.issues : [];
}

async function pathsOfIssues(schema: unknown, args: object): Promise<readonly Path[]> {
  return (await findIssues(schema, args)).map(({ path }) => path);
}
