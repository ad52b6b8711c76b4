import { InvalidMessageError } from "../errors.js";
import type { StoredThread } from "./stored-thread.js";

/**
 * A list of messages that no store has, as a thread. Nothing is known about its run, so each call without a result is a
 * fault.
 *
 * @throws InvalidMessageError for a value that is not a list.
 * @example
 * ```ts
 * import { ToolMessage } from "@langchain/core/messages";
 * import { diagnoseThread, threadOfList } from "langgraph-tether/doctor";
 *
 * const { findings } = diagnoseThread(threadOfList([new ToolMessage({ tool_call_id: "c1", content: "18 °C" })]));
 * console.log(findings.map(({ code }) => code)); // [ 'pairing/orphan-result' ]
 * ```
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
