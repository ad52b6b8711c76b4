/** The steps of a thread: its checkpoints, and what its model was asked at each. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { dialectIn } from "../../doctor/findings.js";
import type { ThreadStep } from "../../doctor/thread-store.js";
import { isAIMessage } from "../../history/call.js";
import { coerceMessage } from "../../history/read-messages.js";
import { readMaker } from "../../providers/rule.js";
import { isRecord } from "../../shared/values.js";
import { forThisTurn, type Help, helpOf, rungsIn } from "../../threads/asking/help.js";

/** Nodes that ask a model: ours, that of `createAgent`, that of `createReactAgent`, and usual names. */
const MODEL_NODE = /^(?:model|model_request|agent|call_model|llm|chatbot)$/;

export type Step = ReturnType<typeof stepOf>;

/** @param findings How many findings of the doctor its messages have, besides information; null if they were not judged. */
export function stepOf(stored: ThreadStep, findings: number | null) {
  const { checkpointId, parentId = null, createdAt = null, messages = [], next, tasks } = stored;
  const { step: number, run_id: runId } = stored.metadata;
  const response = responseOf(stored);
  return {
    checkpointId,
    /** The checkpoint that it continues; null if it is the first, or if that is unknown. */
    parentId,
    /** The branch of the thread, from 1: the latest one. */
    branch: 1,
    /** LangGraph's number: -1 is the input of the first run. */
    number: typeof number === "number" ? number : null,
    /** ISO 8601; null if that is unknown. */
    at: createdAt,
    messages: messages.length,
    /** The nodes that run next. */
    next,
    asksModel: asksModel(stored),
    response: response === undefined ? null : readResponse(response),
    runId: typeof runId === "string" ? runId : null,
    hasFailed: tasks.some(({ error }) => error !== undefined),
    findings,
  };
}

/** Whether the model was asked with these messages, or will be when the thread goes on. */
export const asksModel = (stored: ThreadStep): boolean =>
  asksModelNext(stored) || responseOf(stored) !== undefined;

export const asksModelNext = ({ next }: Pick<ThreadStep, "next">): boolean =>
  next.some((node) => MODEL_NODE.test(node));

/** The same steps with their branches. @param steps The latest first. */
export function withBranches(steps: readonly Step[]): readonly Step[] {
  if (steps.every(({ parentId }) => parentId === null)) return steps;
  const branchOf = new Map<string, number>();
  let branches = 0;
  return steps.map((step) => {
    const known = branchOf.get(step.checkpointId);
    if (known === undefined) branches += 1;
    const branch = known ?? branches;
    // Of several steps that continue one, the latest is in its branch.
    if (step.parentId !== null && !branchOf.has(step.parentId)) branchOf.set(step.parentId, branch);
    return { ...step, branch };
  });
}

/**
 * What was changed in the request that the step's response answers. For a request that has no response yet, that of the
 * response before: the next request begins with it.
 */
export function helpAt(stored: ThreadStep | undefined, messages: readonly BaseMessage[]): Help | undefined {
  const response = stored && responseOf(stored);
  if (response !== undefined) return helpOf(response);
  const help = helpOf(messages.findLast(isAIMessage));
  return help && { ...help, reduction: forThisTurn(help.reduction, messages) };
}

function responseOf({ tasks }: ThreadStep): AIMessage | undefined {
  return tasks
    .filter(({ node }) => MODEL_NODE.test(node))
    .flatMap(({ result }) => (isRecord(result) ? [result["messages"] ?? []].flat() : []))
    .flatMap((value) => coerceMessage(value) ?? [])
    .find(isAIMessage);
}

/** What a model said of itself; null for what it did not say. */
function readResponse(response: AIMessage) {
  const { provider = null, model = null } = readMaker(response);
  const usage: unknown = response.usage_metadata;
  const details = isRecord(usage) ? usage["input_token_details"] : undefined;
  return {
    /** The name in LangChain's `response_metadata.model_provider`. */
    provider,
    /** The dialect of that provider. */
    dialect: dialectIn([response]) ?? null,
    model,
    /** How its input was reduced, because the provider had refused it or it was too long. */
    reduced: rungsIn(helpOf(response)),
    /** Tokens that the provider counted. */
    inputTokens: countIn(usage, "input_tokens"),
    /** Those of them that came from its prompt cache. */
    cachedTokens: countIn(details, "cache_read"),
  };
}

function countIn(value: unknown, name: string): number | null {
  const count = isRecord(value) ? value[name] : undefined;
  return typeof count === "number" ? count : null;
}
