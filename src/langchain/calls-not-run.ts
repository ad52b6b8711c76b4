/** Finds the calls that a human was asked about by LangChain's `humanInTheLoopMiddleware`, without a decision. */

import { z } from "zod";
import type { UnansweredCall } from "../history/calls/open-calls.js";
import { isAIMessage } from "../history/messages/call.js";
import type { Leftovers } from "../nodes/recovery/leftovers.js";
import { toolTasksOf } from "../nodes/tools/tool-task.js";
import { toJson } from "../shared/to-json.js";

const askedSchema = z.object({
  value: z.object({
    actionRequests: z.array(z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) })),
  }),
});

/** LangChain asks by name and arguments, without the id of the call. */
export function declinedCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly Leftovers[],
): ReadonlySet<UnansweredCall> {
  const declined = new Set<UnansweredCall>();
  for (const { history, interrupts } of leftovers) {
    const known = new Set(history.map(({ id }) => id));
    const asked = interrupts.flatMap(
      (entry) => askedSchema.safeParse(entry).data?.value.actionRequests ?? [],
    );
    for (const { name, args } of asked) {
      const isAsked = (unanswered: UnansweredCall): boolean => {
        const { call, group } = unanswered;
        if (!known.has(group.head.id) || declined.has(unanswered) || call.name !== name) return false;
        return toJson(argumentsOf(unanswered)) === toJson(args);
      };
      // The question is about the last group that the run knew.
      const match = calls.findLast(isAsked);
      if (match !== undefined) declined.add(match);
    }
  }
  return declined;
}

function argumentsOf({ group, call }: UnansweredCall): unknown {
  return isAIMessage(group.head) ? toolTasksOf(group.head)[group.calls.indexOf(call)]?.args : undefined;
}
