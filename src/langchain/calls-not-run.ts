/** Finds the calls of ended runs that were not run: a human did not decide about them, or no tool had been started. */

import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod/v4";
import type { UnansweredCall } from "../history/calls/open-calls.js";
import { isAIMessage } from "../history/messages/call.js";
import type { Leftovers } from "../nodes/recovery/leftovers.js";
import { type ToolTask, toolTasksOf } from "../nodes/tools/tool-task.js";
import { addToList } from "../shared/add-to-list.js";
import { toJson } from "../shared/to-json.js";

const askedSchema = z.object({
  value: z.object({
    actionRequests: z.array(z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) })),
  }),
});

/**
 * The calls that a human was asked about by LangChain's `humanInTheLoopMiddleware`, without a decision. It asks by name
 * and arguments, without the id of the call.
 */
export function declinedCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly Leftovers[],
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

/**
 * The calls of a response whose run ended before its tools were started. `humanInTheLoopMiddleware` waits there, also
 * with the calls that need no decision.
 */
export function notStartedCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly Leftovers[],
): ReadonlySet<UnansweredCall> {
  const ends = leftovers.filter(({ nodes }) => nodes.some((name) => AFTER_MODEL.test(name)));
  // Tools are started in the step after the one that writes the response.
  const written = leftovers.flatMap((leftover) => leftover.written.filter(isAIMessage));
  const heads = new Set(
    [...ends.map(({ history }) => history.findLast(isAIMessage)), ...written].map((head) => head?.id),
  );
  return new Set(calls.filter(({ group }) => group.head.id !== undefined && heads.has(group.head.id)));
}
