/** A thread's steps: its checkpoints, and what its model was asked at each. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { dialectIn } from "../../doctor/findings.js";
import type { StoredThread, ThreadStep } from "../../doctor/thread-store.js";
import { callsOf, isAIMessage } from "../../history/call.js";
import { contentText } from "../../history/message.js";
import { coerceMessage } from "../../history/read-messages.js";
import { isResult } from "../../history/result.js";
import { coverageOf, isUserMessage } from "../../history/summary.js";
import { readMaker } from "../../providers/contract/author.js";
import { parseJson } from "../../shared/json.js";
import { amount, oneLine, printableLine } from "../../shared/text.js";
import { isRecord, soundCount } from "../../shared/values.js";
import { type Help, helpAfter, helpOf, rungsIn } from "../../threads/asking/help.js";
import { messagesOfList, nameIn } from "./message-view.js";

export type ShownStep = ReturnType<typeof stepOf>;

/**
 * @param findings How many of the doctor's findings, besides information, its messages have; null if they were not
 * judged.
 */
export function stepOf(stored: ThreadStep, after: ThreadStep | undefined, findings: number | null) {
  const { checkpointId, parentId = null, createdAt = null, messages = [], next, tasks } = stored;
  const { step: number, run_id: runId } = stored.metadata;
  const response = responseOf(stored, after);
  return {
    checkpointId,
    /** The checkpoint that it continues; null if it is the first, or unknown. */
    parentId,
    /** The thread's branch, from 1: the latest one. */
    branch: 1,
    /** LangGraph's number: -1 is the first run's input. */
    number: typeof number === "number" ? number : null,
    /** ISO 8601; null if unknown. */
    at: createdAt,
    messages: messages.length,
    /** The nodes that run next. */
    next,
    /** What these nodes did, in a few words. */
    title: titleOfStep(stored, response),
    /** How long they ran, in milliseconds; null if unknown. */
    duration: durationTo(stored, after),
    asksModel: asksModel(stored, after),
    response: response === undefined ? null : readResponse(response),
    runId: typeof runId === "string" ? runId : null,
    /** How it ended, if not well. */
    failure: failureIn(tasks.flatMap(({ error }) => error ?? [])),
    findings,
  };
}

/**
 * The messages that the model was asked with, as the thread has them. `tetherMiddleware` closes calls and summarises in
 * the request's step, so its writes there are included.
 */
export function requestAt(
  step: ThreadStep | undefined,
  after: ThreadStep | undefined,
  repairedBy: StoredThread["repairedBy"],
): readonly BaseMessage[] {
  const response = step && responseOf(step, after);
  const isWritten = repairedBy === "middleware" && response !== undefined && after !== undefined;
  if (!isWritten) return messagesOfList(step?.messages);
  return messagesOfList(after.messages).filter(({ id }) => id !== response.id);
}

/**
 * Whether the model was asked with these messages, or will be when the thread continues. Its node can end without asking
 * it, for example because a summary is due.
 *
 * @param after The run's next step; undefined if there is none, or if it was not read.
 */
export const asksModel = (stored: ThreadStep, after?: ThreadStep): boolean =>
  responseOf(stored, after) !== undefined || (asksModelNext(stored) && after === undefined);

/** For each step, the one that its run wrote after it. @param steps Latest first. */
export function stepsAfter(
  steps: readonly ThreadStep[],
): (step: ThreadStep | undefined) => ThreadStep | undefined {
  const after = new Map(
    steps.flatMap((step) => (step.metadata["source"] === "loop" ? [[step.parentId, step] as const] : [])),
  );
  return (step) => step && after.get(step.checkpointId);
}

/** Nodes that ask a model: ours, `createAgent`'s, `createReactAgent`'s, and usual names. */
const MODEL_NODE = /^(?:model|model_request|agent|call_model|llm|chatbot)$/;

export const asksModelNext = ({ next }: Pick<ThreadStep, "next">): boolean =>
  next.some((node) => MODEL_NODE.test(node));

const LONGEST_TITLE = 60;

const named = (names: readonly unknown[]): string =>
  [...new Set(names.map((name) => nameIn(name) || "a tool"))].join(", ");

function titleOfStep(stored: ThreadStep, response: AIMessage | undefined): string {
  const written = writtenIn(stored);
  const quoted = (message: BaseMessage) => printableLine(oneLine(contentText(message), LONGEST_TITLE));
  if (response !== undefined) {
    const calls = callsOf(response);
    return calls.length > 0
      ? `called ${named(calls.map(({ name }) => name))}`
      : `answered: ${quoted(response)}`;
  }
  const covered = written.flatMap((message) => coverageOf(message)?.messages ?? []).length;
  if (covered > 0) return `summary of ${amount(covered, "message")}`;
  const results = written.filter(isResult);
  if (results.length > 0) return `${named(results.map(({ name }) => name))} returned`;
  const said = written.findLast(isUserMessage);
  if (stored.next.includes("__start__")) return said === undefined ? "input" : `user: ${quoted(said)}`;
  return [...new Set(stored.next)].map(nameIn).join(", ") || "end";
}

function durationTo({ createdAt = "" }: ThreadStep, after: ThreadStep | undefined): number | null {
  const duration = Date.parse(after?.createdAt ?? "") - Date.parse(createdAt);
  return Number.isNaN(duration) ? null : duration;
}

/** The same steps with their branches. @param steps Latest first. */
export function withBranches(steps: readonly ShownStep[]): readonly ShownStep[] {
  if (steps.every(({ parentId }) => parentId === null)) return steps;
  const branchOf = new Map<string, number>();
  let branches = 0;
  return steps.map((step) => {
    const known = branchOf.get(step.checkpointId);
    if (known === undefined) branches += 1;
    const branch = known ?? branches;
    // If several steps continue one, the latest is in its branch.
    if (step.parentId !== null && !branchOf.has(step.parentId)) branchOf.set(step.parentId, branch);
    return { ...step, branch };
  });
}

/**
 * What was changed in the request that the step's response answers. If a request has no response yet, the last response
 * counts: the next request begins with its changes.
 */
export function helpAt(
  stored: ThreadStep | undefined,
  after: ThreadStep | undefined,
  messages: readonly BaseMessage[],
): Help | undefined {
  const response = stored && responseOf(stored, after);
  if (response !== undefined) return helpOf(response);
  return helpAfter(messages, messages.findLastIndex(isAIMessage));
}

/** LangGraph shows only part of a task that wrote several times. The next step has everything. */
function responseOf(step: ThreadStep, after: ThreadStep | undefined): AIMessage | undefined {
  const written = writtenIn(step, ({ node }) => MODEL_NODE.test(node)).findLast(isAIMessage);
  if (written !== undefined || after === undefined || !asksModelNext(step)) return written;
  const known = new Set(messagesOfList(step.messages).map(({ id }) => id));
  return messagesOfList(after.messages)
    .filter(isAIMessage)
    .findLast(({ id }) => !known.has(id));
}

/** The messages that tasks of the step wrote. */
function writtenIn(
  { tasks }: ThreadStep,
  isMeant: (task: ThreadStep["tasks"][number]) => boolean = () => true,
): readonly BaseMessage[] {
  return tasks
    .filter(isMeant)
    .flatMap(({ result }) => (isRecord(result) ? [result["messages"] ?? []].flat() : []))
    .flatMap((value) => coerceMessage(value) ?? []);
}

function failureIn(errors: readonly string[]): "cancelled" | "failed" | null {
  if (errors.length === 0) return null;
  return errors.every((error) => readError(error).isCancelled) ? "cancelled" : "failed";
}

/** How LangGraph, its server and browsers say that somebody ended a run. */
const CANCELLED = /^(?:interrupt|rollback|abort(?:ed)?|cancell?ed|(?:this|the) operation was aborted\.?)$/i;

/** The last lines of LangChain's own errors. */
const ADVICE = /Troubleshooting URL: \S+/g;

/** What a task's error says. A server has it as JSON. */
export function readError(error: string) {
  const { message, name } = Object(parseJson(error));
  const text = (typeof message === "string" ? message : error).replace(ADVICE, "").trim();
  return { text, isCancelled: CANCELLED.test(text) || name === "AbortError" };
}

/** What a model said about itself; null for what it did not say. */
function readResponse(response: AIMessage) {
  const { provider = null, model = null } = readMaker(response);
  const { input_tokens, input_token_details, output_tokens } = Object(response.usage_metadata);
  return {
    /** The name in LangChain's `response_metadata.model_provider`. */
    provider,
    /** The dialect of that provider. */
    dialect: dialectIn([response]) ?? null,
    model,
    /** How its input was reduced, because the provider refused it or it was too long. */
    reduced: rungsIn(helpOf(response)),
    /** Tokens that the provider counted. */
    inputTokens: soundCount(input_tokens) ?? null,
    /** The input tokens that came from its prompt cache. */
    cachedTokens: soundCount(Object(input_token_details).cache_read) ?? null,
    outputTokens: soundCount(output_tokens) ?? null,
  };
}

/** The request's and the response's tokens, as the provider counted them. */
export function countedTokens(message: BaseMessage): number {
  const { input_tokens, output_tokens } = Object(Reflect.get(message, "usage_metadata"));
  return (soundCount(input_tokens) ?? 0) + (soundCount(output_tokens) ?? 0);
}
