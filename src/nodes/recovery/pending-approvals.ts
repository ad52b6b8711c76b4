import { isAIMessage } from "../../history/call.js";
import type { UnansweredCall } from "../../history/open-calls.js";
import { toJson } from "../../shared/to-json.js";
import type { ApprovalTask, AskedCall } from "../approval/approval-request.js";
import { type ToolTask, toolTasksOf } from "../tools/tool-task.js";
import type { Remains } from "./recover-calls.js";

/**
 * What is still to be asked of the open group: its caller gave results of other calls, and that was no answer.
 *
 * @param found What was found of each of the pending calls.
 */
export function pendingApprovals(
  pending: readonly UnansweredCall[],
  found: readonly (Remains | undefined)[],
): ApprovalTask | undefined {
  const tasks = pending.flatMap(({ call, group }, index) => {
    const remains = found[index];
    if (remains?.kind !== "question" || !isAIMessage(group.head)) return [];
    const task = toolTasksOf(group.head)[group.calls.indexOf(call)];
    return task !== undefined && isSame(task, remains.asked) ? [task] : [];
  });
  return tasks.length === 0 ? undefined : { messageId: pending[0]?.group.head.id ?? "", tasks };
}

/** A client may have replaced the message since: only what the model has called is asked about. */
function isSame({ call, args }: ToolTask, asked: AskedCall): boolean {
  return call.id === asked.id && call.name === asked.name && toJson(args) === toJson(asked.args);
}
