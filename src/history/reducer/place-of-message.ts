import type { BaseMessage } from "@langchain/core/messages";
import { recoveredAfter } from "../messages/recovered.js";
import { coverageOf } from "../messages/summary.js";
import type { Draft } from "./draft.js";
import { endOfGroup } from "./draft-group.js";

/** The position at which a new message that is not a result is inserted: rules 8 and 12. */
export function placeOfMessage(draft: Draft, message: BaseMessage): number {
  const coverage = coverageOf(message);
  if (coverage !== undefined) return placeOfSummary(draft, coverage.messages);
  const after = recoveredAfter(message);
  if (after === undefined) return draft.length;
  if (after === "") return 0;
  const position = draft.find(after);
  return position === undefined ? draft.length : endOfGroup(draft, position);
}

function placeOfSummary(draft: Draft, covered: readonly string[]): number {
  let last = -1;
  for (const id of covered) last = Math.max(last, draft.find(id) ?? -1);
  if (last >= 0) return endOfGroup(draft, last);
  let position = 0;
  for (let next = 0; next < draft.length; next += 1) {
    const message = draft.at(next);
    if (message === undefined) continue;
    if (message.type !== "system") break;
    position = next + 1;
  }
  return position;
}
