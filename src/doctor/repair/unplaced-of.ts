import type { ToolMessage } from "@langchain/core/messages";
import { callIdOf } from "../../history/messages/result.js";
import type { Examination } from "../examine/examine-thread.js";
import { idIn } from "../examine/id-in.js";
import { storedValueOf } from "../examine/read-list.js";
import type { Unplaced } from "../repair-plan.js";
import { toStoredJson } from "./stored-json.js";

/** What has no place in the list after a repair. The receipt keeps it. */
export function unplacedOf({ list, orphans, duplicates, unplaced, openCalls }: Examination): Unplaced[] {
  const of =
    (reason: string) =>
    (message: ToolMessage): Unplaced => ({
      messageId: message.id ?? null,
      callId: callIdOf(message),
      tool: message.name ?? null,
      reason,
      message: toStoredJson(storedValueOf(message, list)),
    });
  const replaced = openCalls.flatMap(({ recovered, standIn }) => (recovered && standIn) ?? []);
  return [
    ...list.foreign.map(({ value }) => ({
      messageId: idIn(value) ?? null,
      callId: null,
      tool: null,
      reason: "It is not a message.",
      message: toStoredJson(value),
    })),
    ...orphans.map(of("No call before it has its id.")),
    ...duplicates.map(of("Its call has another result.")),
    ...replaced.map(of("The result that the tool returned was found.")),
    ...unplaced.map(of("A run that ended early has saved it, and no call of the list waits for it.")),
  ];
}
