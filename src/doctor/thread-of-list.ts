import { InvalidMessageError } from "../errors.js";
import type { StoredThread } from "./stored-thread.js";

/**
 * A list of messages that no store has, as a thread.
 *
 * @throws InvalidMessageError for a value that is not a list.
 */
export function threadOfList(messages: readonly unknown[], threadId = "list"): StoredThread {
  if (!Array.isArray(messages)) throw new InvalidMessageError("messages", messages, "a list of messages");
  return {
    threadId,
    namespace: "",
    checkpointId: undefined,
    status: "idle",
    content: { kind: "read", messages },
    endedRuns: [],
    openTasks: undefined,
    otherChannels: [],
  };
}
