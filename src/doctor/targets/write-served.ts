/** Writes the messages of a thread of a LangGraph server. */

import type { ThreadRef, ThreadWrite, WriteOutcome } from "../thread-store.js";
import { reasonOf } from "./reason-of.js";
import type { HideSecrets } from "./safe-address.js";
import { asSent, otherWritesOf, type ServedState, statusCodeOf, type ThreadsClient } from "./served-state.js";

const REMOVE_ALL = "__remove_all__";

/** See `ThreadStore.write`. */
export async function writeServed(
  threads: ThreadsClient,
  { threadId }: ThreadRef,
  { expectedCheckpointId, messages, asNode }: ThreadWrite,
  hide: HideSecrets,
): Promise<WriteOutcome> {
  const { status } = await threads.get(threadId);
  if (status === "busy") return { kind: "busy" };
  const { id: head, failing } = await headOf(threads, threadId);
  if (head !== expectedCheckpointId) return { kind: "moved", checkpointId: head };
  const list = [{ type: "remove", id: REMOVE_ALL, content: "" }, ...messages.map(asSent)];
  try {
    const { checkpoint } = await threads.updateState(threadId, {
      values: { ...(failing && otherWritesOf(failing)), messages: list },
      // A write to a named checkpoint does not apply the pending writes, of which one makes the thread unreadable.
      ...(failing && head !== undefined && { checkpointId: head }),
      ...(asNode !== undefined && { asNode }),
    });
    return { kind: "written", checkpointId: checkpoint?.checkpoint_id ?? undefined };
  } catch (error) {
    if (statusCodeOf(error) === 409) return { kind: "busy" };
    const status = statusCodeOf(error);
    if (typeof status !== "number") throw new Error(hide(reasonOf(error)));
    // A server can quote what it refuses, which is the messages.
    const about =
      asNode === undefined ? "If it asks for a node, name one" : `It may not know the node \`${asNode}\``;
    throw new Error(
      `The server answers ${status}, and its log says why. ${about}: --as-node (\`asNode\` in the library).`,
    );
  }
}

async function headOf(
  threads: ThreadsClient,
  threadId: string,
): Promise<{ readonly id: string | undefined; readonly failing?: ServedState | undefined }> {
  const idOf = (state: ServedState | undefined) => state?.checkpoint?.checkpoint_id ?? undefined;
  try {
    return { id: idOf(await threads.getState(threadId, undefined, { select: ["checkpoint"] })) };
  } catch (error) {
    if (statusCodeOf(error) !== 500) throw error;
    const [failing] = await threads.getHistory(threadId, { limit: 1, select: ["checkpoint", "tasks"] });
    return { id: idOf(failing), failing };
  }
}
