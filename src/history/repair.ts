/** What was done to a history beyond its writer's request. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { toJson } from "../shared/json.js";
import type { Call } from "./call.js";
import { deriveId } from "./message.js";

type RepairDetail =
  /** A value that is not a message was dropped. */
  | { readonly kind: "value-refused"; readonly value: unknown }
  /**
   * A message's field had a wrong type, or a value that no checkpoint can store: `by` has what is readable. Or a call
   * was closed that not every client sends: `by` has all calls in `tool_calls`.
   */
  | { readonly kind: "message-repaired"; readonly message: BaseMessage; readonly by: BaseMessage }
  /** A client's system message was stored as the user's words: see the setting `acceptSystemMessages`. */
  | { readonly kind: "role-changed"; readonly message: BaseMessage; readonly by: BaseMessage }
  /** A result was dropped because no call before it has its id. */
  | { readonly kind: "orphan-refused"; readonly message: ToolMessage }
  /** A call's second result was dropped. The first stays, unless it was a placeholder. */
  | { readonly kind: "duplicate-refused"; readonly message: ToolMessage }
  /**
   * A tool returned after another process had moved its thread on. The thread's next run places the result if the
   * thread has its call.
   */
  | { readonly kind: "result-late"; readonly message: ToolMessage }
  /** A placeholder was dropped because its call has a real result. */
  | { readonly kind: "placeholder-refused"; readonly message: ToolMessage }
  /** A result replaced the placeholder of its call. */
  | { readonly kind: "placeholder-replaced"; readonly message: ToolMessage; readonly by: ToolMessage }
  /** A result replaced an earlier result of its call. */
  | { readonly kind: "result-replaced"; readonly message: ToolMessage; readonly by: ToolMessage }
  /** A result was moved to its call. */
  | { readonly kind: "result-moved"; readonly message: ToolMessage }
  /** A result was removed because its call's message was removed, replaced or edited. */
  | { readonly kind: "result-removed"; readonly message: ToolMessage }
  /** A removal named a message that is not in the history. */
  | { readonly kind: "removal-ignored"; readonly id: string }
  /** A message in a stored history got a new id, because it had none or its id was taken. */
  | { readonly kind: "id-derived"; readonly message: BaseMessage; readonly previousId: string | undefined }
  /** A call without a result was closed with a placeholder. */
  | { readonly kind: "call-closed"; readonly call: Call; readonly message: ToolMessage };

/**
 * One repair. `key` is the same each time the same repair is made. LangGraph runs reducers again on local reads and
 * replays, so subscribers deduplicate by `key`.
 */
export type Repair = RepairDetail & { readonly key: string };

/** Takes note of each repair, in order. */
export type NoteRepair = (repair: Repair) => void;

/** The kind of a repair. */
export type RepairKind = Repair["kind"];

/** @param detail It becomes the repair itself: a list can need thousands, and a copy costs more than all the rest. */
export function createRepair<Detail extends RepairDetail>(detail: Detail): Detail & { key: string } {
  return Object.assign(detail, { key: `${detail.kind}:${subjectOf(detail)}` });
}

function subjectOf(detail: RepairDetail): string {
  if (detail.kind === "value-refused") return toJson(detail.value) ?? typeof detail.value;
  if (detail.kind === "removal-ignored") return detail.id;
  // A message that is reported as it was given can have any value as its id.
  const id: unknown = detail.message.id;
  return typeof id === "string" && id !== "" ? id : deriveId(detail.message, "");
}
