/** What is known about the calls that ended runs left without a result: the tool's result, or why there is none. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { z } from "zod/v4";
import { isAIMessage } from "../../history/call.js";
import { type Group, placeOfCall } from "../../history/group.js";
import type { UnansweredCall } from "../../history/open-calls.js";
import {
  callIdOf,
  causeInHistory,
  createPlaceholder,
  isPlaceholder,
  isResult,
  markRecoveredResult,
  type PlaceholderCause,
} from "../../history/result.js";
import { toJson } from "../../shared/json.js";
import { addToList, madeOnce } from "../../shared/values.js";
import { type ToolTask, toolTasksOf } from "../langgraph/read-checkpoints.js";
import { enterBeforeModel } from "../saver/run-checkpoints.js";
import type { RecoverableRun } from "./leftovers.js";

/** What was found for a call: its tool's result, or the pending question to a human. */
type Remains =
  | { readonly kind: "result"; readonly result: ToolMessage }
  | { readonly kind: "question"; readonly asked: AskedCall };

/**
 * What was found for the given calls, in the same order. Undefined where nothing was found. A checkpoint's writes
 * belong to the last group of its history, so among equal ids the latest call gets the result. A diary names its calls.
 */
function recoverCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly RecoverableRun[],
): (Remains | undefined)[] {
  const late = new Map(leftovers.flatMap((left) => left.late.map(({ place, result }) => [place, result])));
  const found = calls.map(({ call, group, index }): Remains | undefined => {
    const result = late.get(placeOfCall(group, index));
    // A client may have replaced the message since.
    return result === undefined || callIdOf(result) !== call.id ? undefined : { kind: "result", result };
  });
  const places = new Map<Group, number[]>();
  for (const [index, { group }] of calls.entries()) addToList(places, group, index);
  for (const { history, written, interrupts } of leftovers.toReversed()) {
    const known = new Set([...history, ...written].map(({ id }) => id));
    /** For each id, what was written for it, the first write last. */
    const waiting = new Map<string, Remains[]>();
    for (const asked of askedCalls(interrupts).toReversed())
      addToList(waiting, asked.id, { kind: "question", asked });
    for (const result of written.filter(isResult).toReversed())
      if (!isPlaceholder(result)) addToList(waiting, callIdOf(result), { kind: "result", result });
    for (const [{ head }, indexes] of [...places].reverse()) {
      if (!known.has(head.id)) continue;
      for (const index of indexes) found[index] ??= waiting.get(calls[index]?.call.id ?? "")?.pop();
    }
  }
  return found;
}

/** A call without a result, and what is known about it. */
export interface ExaminedCall extends UnansweredCall {
  readonly remains: Remains | undefined;
  /**
   * Why there is no result: a human did not decide, the run ended before the tool started, or what the history says.
   */
  readonly cause: PlaceholderCause;
  /** The checkpoint that sent the call; undefined if unknown. */
  readonly sentAt: string | undefined;
  /** Whether the call is of the open group: no message but results follows its message. */
  readonly isPending: boolean;
}

/** @param wasCut Whether the history ends where its last run was stopped. */
export function examineCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly RecoverableRun[],
  history: readonly BaseMessage[],
  wasCut = false,
): ExaminedCall[] {
  const found = recoverCalls(calls, leftovers);
  const declined = declinedCalls(calls, leftovers);
  const unstarted = new Set(leftovers.flatMap((leftover) => leftover.unstarted));
  const cutOff = leftovers.filter(({ nodes }) => endsAfterModel(nodes));
  const unstartedHeads = new Set(cutOff.map((leftover) => leftover.history.findLast(isAIMessage)?.id));
  const causeOf = ({ call, group, index }: UnansweredCall): PlaceholderCause => {
    const isUnstarted =
      unstarted.has(placeOfCall(group, index)) ||
      (group.head.id !== undefined && unstartedHeads.has(group.head.id));
    if (isUnstarted && call.kind !== "invalid") return "not-started";
    const cause = causeInHistory(call, history[group.end]);
    return wasCut && cause === "unrecorded" && group.end === history.length ? "interrupted" : cause;
  };
  const last = history.findLastIndex((message) => !isResult(message));
  return calls.map((unanswered, index) => {
    const remains = found[index];
    const isDeclined = remains !== undefined || declined.has(unanswered);
    const { head, start } = unanswered.group;
    const { id } = head;
    // The input of a later run that adds no message stands after the same message.
    const isOfRun = ({ headId, nodes }: (typeof leftovers)[number]) =>
      headId === id && !enterBeforeModel(nodes);
    const sentAt = id && leftovers.findLast(isOfRun)?.checkpointId;
    return {
      ...unanswered,
      remains,
      cause: isDeclined ? "declined" : causeOf(unanswered),
      sentAt,
      isPending: start === last,
    };
  });
}

/** LangChain's nodes between the model's response and its tools. */
const AFTER_MODEL = /\.after_model$/;

/**
 * Whether a run that was about to enter these nodes ended between a response and its tools. LangChain's
 * `humanInTheLoopMiddleware` waits there, even with calls that need no decision. That the checkpoint lacks
 * the response proves nothing: LangGraph may save it only while the tools already start.
 */
export const endsAfterModel = (nodes: readonly string[]): boolean =>
  nodes.some((name) => AFTER_MODEL.test(name));

/** What closes a call: the result found for it, or a placeholder. */
export function closingResult({ call, group, index, remains, cause, sentAt }: ExaminedCall): ToolMessage {
  if (remains?.kind === "result") return markRecoveredResult(remains.result);
  return createPlaceholder(call, cause, placeOfCall(group, index), sentAt);
}

/*
 * What a thread asks a human: our question names the call by its id, LangChain's by its name and arguments.
 */

const argumentsSchema = z.record(z.string(), z.unknown());

const askedSchema = z.object({
  value: z.object({
    action_requests: z.array(
      z.object({ id: z.string(), name: z.string(), args: argumentsSchema, description: z.string() }),
    ),
    problem: z.string().optional(),
  }),
});

const askedByLangChainSchema = z.object({
  value: z.object({ actionRequests: z.array(z.object({ name: z.string(), args: argumentsSchema })) }),
});

/** A call that a human was asked about. Its description does not include a decision's problem. */
export interface AskedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly description: string;
}

/** The calls that pending interrupts ask about. Empty if they ask about something else. */
export function askedCalls(interrupts: unknown): AskedCall[] {
  return [interrupts].flat().flatMap((entry) => {
    const { action_requests = [], problem } = askedSchema.safeParse(entry).data?.value ?? {};
    const ending = problemText(problem);
    return action_requests.map(({ description, ...asked }) => ({
      ...asked,
      description: description.endsWith(ending)
        ? description.slice(0, description.length - ending.length)
        : description,
    }));
  });
}

/** Chat UIs show the description but not `problem`. */
export function problemText(problem: string | undefined): string {
  return problem === undefined ? "" : `\n\nThe last decision was not used: ${problem}`;
}

/** The calls that LangChain's `humanInTheLoopMiddleware` asked about without getting a decision. */
function declinedCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly RecoverableRun[],
): ReadonlySet<UnansweredCall> {
  const declined = new Set<UnansweredCall>();
  const argumentsOf = argumentsReader();
  for (const { history, interrupts } of leftovers) {
    const known = new Set(history.map(({ id }) => id));
    const asked = interrupts.flatMap(
      (entry) => askedByLangChainSchema.safeParse(entry).data?.value.actionRequests ?? [],
    );
    if (asked.length === 0) continue;
    const waiting = new Map<string, UnansweredCall[]>();
    for (const unanswered of calls) {
      const { call, group } = unanswered;
      // Two runs can have asked about equal calls, one after another.
      if (!known.has(group.head.id) || declined.has(unanswered)) continue;
      addToList(waiting, describe(call.name, argumentsOf(unanswered)), unanswered);
    }
    for (const { name, args } of asked) {
      // The question is about the last group that the run knew.
      const match = waiting.get(describe(name, args))?.pop();
      if (match !== undefined) declined.add(match);
    }
  }
  return declined;
}

function describe(name: string, args: unknown): string {
  return `${name}\n${toJson(args)}`;
}

function argumentsReader(): (unanswered: UnansweredCall) => unknown {
  const known = new Map<BaseMessage, readonly ToolTask[]>();
  return ({ group: { head }, index }) => {
    if (!isAIMessage(head)) return undefined;
    return madeOnce(known, head, () => toolTasksOf(head))[index]?.args;
  };
}
