/** What was done to a history beyond what its writer asked for. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { toJson } from "../shared/to-json.js";
import type { Call } from "./call.js";
import { deriveId } from "./message-id.js";

type RepairDetail =
  /** A value that is no message was dropped. */
  | { readonly kind: "value-refused"; readonly value: unknown }
  /** A result whose call does not stand before it did not enter the history. */
  | { readonly kind: "orphan-refused"; readonly message: ToolMessage }
  /** A second result for an answered call of a list was dropped; the first one stays. */
  | { readonly kind: "duplicate-refused"; readonly message: ToolMessage }
  /** A placeholder for a call that has a real result was dropped. */
  | { readonly kind: "placeholder-refused"; readonly message: ToolMessage }
  /** A result took the place of the placeholder of its call. */
  | { readonly kind: "placeholder-replaced"; readonly message: ToolMessage; readonly by: ToolMessage }
  /** A result took the place of an earlier result of its call. */
  | { readonly kind: "result-replaced"; readonly message: ToolMessage; readonly by: ToolMessage }
  /** A result was moved to its call. */
  | { readonly kind: "result-moved"; readonly message: ToolMessage }
  /** A result left the history because its call did: its message was removed, replaced or edited. */
  | { readonly kind: "result-removed"; readonly message: ToolMessage }
  /** A removal named a message that is not in the history. */
  | { readonly kind: "removal-ignored"; readonly id: string }
  /** A message of a foreign state had no id, or the id of another message of that state. */
  | { readonly kind: "id-derived"; readonly message: BaseMessage; readonly previousId: string | undefined }
  /** A dangling call was closed with a placeholder. */
  | { readonly kind: "call-closed"; readonly call: Call; readonly message: ToolMessage };

/**
 * One repair. `key` is the same each time the same repair is made: LangGraph runs reducers again on local reads
 * and replays, so a reader of repairs deduplicates by it.
 */
export type Repair = RepairDetail & { readonly key: string };

/** What was done in a repair. */
export type RepairKind = Repair["kind"];

export function createRepair(detail: RepairDetail): Repair {
  return { ...detail, key: `${detail.kind}:${subjectOf(detail)}` };
}

function subjectOf(detail: RepairDetail): string {
  if (detail.kind === "value-refused") return toJson(detail.value) ?? typeof detail.value;
  if (detail.kind === "removal-ignored") return detail.id;
  return detail.message.id || deriveId(detail.message, "");
}
