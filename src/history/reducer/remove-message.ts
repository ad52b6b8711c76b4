import type { ToolMessage } from "@langchain/core/messages";
import { createRepair, type Repair } from "../messages/repair.js";
import type { Draft, Place } from "./draft.js";

export type Report = (repair: Repair) => void;

/** Removes a message. With a message of calls, its results are removed. */
export function removeAt(draft: Draft, { group, call }: Place, report: Report): void {
  if (call !== undefined) {
    draft.setResult({ group, call }, undefined);
    return;
  }
  reportRemoved(group.results, report);
  draft.removeGroup(group);
}

export function reportRemoved(results: readonly (ToolMessage | undefined)[], report: Report): void {
  for (const message of results)
    if (message !== undefined) report(createRepair({ kind: "result-removed", message }));
}
