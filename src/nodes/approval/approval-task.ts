import { isRecord } from "../../shared/is-record.js";
import { isToolTask, type ToolTask } from "../tools/tool-task.js";

/** What the approve node is sent: the calls of one batch that need a human. JSON: it is stored in the checkpoint. */
export interface ApprovalTask {
  /** The message of the calls. */
  readonly messageId: string;
  readonly tasks: readonly ToolTask[];
  /** What was wrong with the last answer; it is asked again. */
  readonly problem?: string | undefined;
}

export function isApprovalTask(value: unknown): value is ApprovalTask {
  if (!isRecord(value)) return false;
  const { messageId, tasks } = value;
  return typeof messageId === "string" && Array.isArray(tasks) && tasks.every(isToolTask);
}
