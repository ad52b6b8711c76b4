/** What a LangChain agent takes of the runs that ended: its middleware sees less than the graph of `createAgentGraph`. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { z } from "zod/v4";
import { callsOf, isAIMessage } from "../history/call.js";
import { REMOVE_ALL_MESSAGES } from "../history/message.js";
import type { UnansweredCall } from "../history/open-calls.js";
import { causeInHistory, isResult, type PlaceholderCause } from "../history/result.js";
import { toJson } from "../shared/json.js";
import { addToList } from "../shared/values.js";
import { type ToolTask, toolTasksOf } from "./langgraph/read-checkpoints.js";
import type { Leftovers } from "./leftovers.js";

/**
 * Whether the run before this one may have ended without storing what it had written: the message before the new input
 * is no final response.
 */
export function mayLackResponse(history: readonly BaseMessage[]): boolean {
  const before = history.at(-1)?.type === "human" ? history.at(-2) : history.at(-1);
  return before !== undefined && !(isAIMessage(before) && callsOf(before).length === 0);
}

/** Those of which messages are put back, with these messages. */
export function leftoversInPlace<Left extends Pick<Leftovers, "history" | "written">>(
  history: readonly BaseMessage[],
  leftovers: readonly Left[],
): Left[] {
  const present = new Set(history.map(({ id }) => id));
  // The input of the run cannot be read here, so what it removed is not known. Where the last message is gone, or is
  // one of another branch, nothing is put back.
  return leftovers
    .filter((leftover) => present.has(leftover.history.at(-1)?.id))
    .map((leftover) => ({ ...leftover, written: withoutRewrites(leftover.written) }));
}

/**
 * A middleware such as `summarizationMiddleware` replaces the whole history. If its step was not stored, the history is
 * still whole, and the middleware writes it again.
 */
function withoutRewrites(written: readonly BaseMessage[]): readonly BaseMessage[] {
  const isRewrite = (message: BaseMessage): boolean =>
    RemoveMessage.isInstance(message) && message.id === REMOVE_ALL_MESSAGES;
  return written.some(isRewrite) ? written.filter(isResult) : written;
}

/*
 * Finds the calls of ended runs that were not run: a human did not decide about them, or no tool had been started.
 */

const askedSchema = z.object({
  value: z.object({
    actionRequests: z.array(z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) })),
  }),
});

/** Of a run of a LangChain agent, what tells which calls were not run. */
type AgentLeftovers = Pick<Leftovers, "history" | "written" | "interrupts" | "nodes">;

/** Why calls have no result, for `closeCalls`. */
export function causesInAgent(
  calls: readonly UnansweredCall[],
  leftovers: readonly AgentLeftovers[],
  history: readonly BaseMessage[],
): (unanswered: UnansweredCall) => PlaceholderCause {
  const declined = declinedCalls(calls, leftovers);
  const notStarted = notStartedCalls(calls, leftovers);
  return (unanswered) => {
    if (declined.has(unanswered)) return "declined";
    const { call, group } = unanswered;
    const isKnown = call.kind !== "invalid" && notStarted.has(unanswered);
    return isKnown ? "not-started" : causeInHistory(call, history[group.end]);
  };
}

/**
 * The calls that a human was asked about by LangChain's `humanInTheLoopMiddleware`, without a decision. It asks by name
 * and arguments, without the id of the call.
 */
export function declinedCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly AgentLeftovers[],
): ReadonlySet<UnansweredCall> {
  const declined = new Set<UnansweredCall>();
  const argumentsOf = argumentsReader();
  for (const { history, interrupts } of leftovers) {
    const known = new Set(history.map(({ id }) => id));
    const asked = interrupts.flatMap(
      (entry) => askedSchema.safeParse(entry).data?.value.actionRequests ?? [],
    );
    if (asked.length === 0) continue;
    const waiting = new Map<string, UnansweredCall[]>();
    for (const unanswered of calls) {
      const { call, group } = unanswered;
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
  return ({ group: { head }, place }) => {
    if (!isAIMessage(head)) return undefined;
    const tasks = known.get(head) ?? toolTasksOf(head);
    known.set(head, tasks);
    return tasks[place]?.args;
  };
}

/** LangChain's nodes between the response of the model and its tools. */
const AFTER_MODEL = /\.after_model$/;

/** Whether a run that was about to enter these nodes ended between a response and its tools. */
export const endsAfterModel = (nodes: readonly string[]): boolean =>
  nodes.some((name) => AFTER_MODEL.test(name));

/**
 * The calls of a response whose run ended before its tools were started. `humanInTheLoopMiddleware` waits there, also
 * with the calls that need no decision. That no checkpoint has the response proves nothing: LangGraph saves it while the
 * tools begin.
 */
function notStartedCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly AgentLeftovers[],
): ReadonlySet<UnansweredCall> {
  const ends = leftovers.filter(({ nodes }) => endsAfterModel(nodes));
  const heads = new Set(ends.map(({ history }) => history.findLast(isAIMessage)?.id));
  return new Set(calls.filter(({ group }) => group.head.id !== undefined && heads.has(group.head.id)));
}
