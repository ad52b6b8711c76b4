/** The list of threads as data. Pure. */

import type { ThreadReport } from "../../doctor/finding.js";
import { reportOn } from "../../doctor/findings.js";
import type { StoredThread, ThreadStatus } from "../../doctor/thread-store.js";
import { toJson } from "../../shared/json.js";
import { nameIn } from "./message-view.js";
import { type LastRepair, lastRepairIn, messagesIn, titleOf } from "./thread-view.js";

/** A thread of the list. */
export interface ListedView {
  readonly title: string;
  readonly graph: string;
  readonly updatedAt: string | null;
  readonly lastRepair: LastRepair | null;
  /** The size of the messages as JSON; null if they were not read. */
  readonly bytes: number | null;
  readonly report: ThreadReport;
}

export interface ListView {
  readonly threads: readonly ListedView[];
  readonly query: string;
  readonly status: ThreadStatus | undefined;
  readonly has: string | undefined;
  readonly page: number;
  readonly hasNext: boolean;
  /** Set if not all threads were searched: how many were. */
  readonly searched: number | null;
}

export function viewListed(
  thread: StoredThread,
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): ListedView {
  const { content, updatedAt = null } = thread;
  const values = "messages" in content ? content.messages : undefined;
  const messages = messagesIn(values);
  const graph = metadata?.["graph_id"];
  return {
    title: titleOf(messages, metadata),
    graph: nameIn(graph),
    updatedAt,
    lastRepair: lastRepairIn(messages),
    bytes: values === undefined ? null : Buffer.byteLength(toJson(values) ?? ""),
    report: reportOn(thread),
  };
}
