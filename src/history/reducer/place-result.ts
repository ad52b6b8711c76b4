/** Rules 6 and 7 of the reducer: where a result goes. */

import type { ToolMessage } from "@langchain/core/messages";
import { withStoredMarks } from "../messages/marks.js";
import { createRepair } from "../messages/repair.js";
import { callIdOf, isPlaceholder } from "../messages/result.js";
import type { Slot } from "./call-slots.js";
import type { Draft, Place } from "./draft.js";
import { withId } from "./identify.js";
import { type Report, removeAt } from "./remove-message.js";

/** `own` is the place of the stored message with the same id. */
export function placeResult(draft: Draft, result: ToolMessage, own: Place | undefined, report: Report): void {
  const callId = callIdOf(result);
  if (own?.call !== undefined) {
    const former = own.group.results[own.call];
    if (former === result) return;
    if (own.group.calls[own.call]?.id === callId) {
      fillSlot(draft, withStoredMarks(result, former), { group: own.group, call: own.call }, report);
      return;
    }
  }
  const isStandIn = isPlaceholder(result);
  const except = own?.call === undefined ? own?.group : undefined;
  const slot =
    draft.findSlot(callId, isStandIn ? "empty" : "open", except) ?? draft.findSlot(callId, "any", except);
  const former = slot?.group.results[slot.call];
  if (slot === undefined) {
    report(createRepair({ kind: "orphan-refused", message: result }));
  } else if (isStandIn && former !== undefined && !isPlaceholder(former)) {
    report(createRepair({ kind: "placeholder-refused", message: result }));
  } else {
    // The search for a slot can have moved the stored message to another call.
    const now = own && draft.find(result.id ?? "");
    if (now !== undefined) removeAt(draft, now, report);
    fillSlot(draft, result, slot, report);
  }
}

/** Puts a result into the slot of its call. A placeholder does not replace a real result. */
function fillSlot(draft: Draft, result: ToolMessage, slot: Slot, report: Report): void {
  const { group, call } = slot;
  const former = group.results[call];
  if (former !== undefined && isPlaceholder(result) && !isPlaceholder(former)) {
    report(createRepair({ kind: "placeholder-refused", message: result }));
    return;
  }
  const by = withId(draft, result, `${group.head.id ?? ""}:${call}`, former?.id);
  draft.setResult(slot, by);
  if (former === undefined) return;
  if (isPlaceholder(former) && !isPlaceholder(by)) {
    report(createRepair({ kind: "placeholder-replaced", message: former, by }));
  } else if (former.id !== by.id) {
    report(createRepair({ kind: "result-replaced", message: former, by }));
  }
}
