import type { UnansweredCall } from "../../history/calls/open-calls.js";
import { isAIMessage } from "../../history/messages/call.js";
import { toJson } from "../../shared/to-json.js";
import type { ApprovalTask } from "../approval/approval-request.js";
import { type ToolTask, toolTasksOf } from "../tools/tool-task.js";
import type { AskedCall } from "./asked-calls.js";
import type { Remains } from "./recover-calls.js";

/**
 * The questions of the open group that are still pending. The caller may have sent results of other calls:
 * these questions stay open.
 *
 * @param found The finding for each of the pending calls.
 */
export function pendingApprovals(
  pending: readonly UnansweredCall[],
  found: readonly (Remains | undefined)[],
): ApprovalTask | undefined {
  // Pending calls are those of the open group.
  const head = pending[0]?.group.head;
  const known = head !== undefined && isAIMessage(head) ? toolTasksOf(head) : [];
  const tasks = pending.flatMap(({ place }, index) => {
    const remains = found[index];
    if (remains?.kind !== "question") return [];
    const task = known[place];
    return task !== undefined && isSame(task, remains.asked)
      ? [{ ...task, description: remains.asked.description }]
      : [];
  });
  return tasks.length === 0 ? undefined : { messageId: head?.id ?? "", tasks };
}

/** A client may have replaced the message since. Only calls that the model made are asked about. */
function isSame({ call, args }: ToolTask, asked: AskedCall): boolean {
  return call.id === asked.id && call.name === asked.name && toJson(args) === toJson(asked.args);
}
