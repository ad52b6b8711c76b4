/** The reducer brings each broken history of a public report into order. */

import type { BaseMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { BROKEN_HISTORIES } from "../support/broken-histories.js";
import { strictViolations } from "../support/strict-check.js";
import { titled } from "../support/titled.js";

function draw(given: readonly BaseMessage[], messages: readonly BaseMessage[]): string[] {
  return messages.map((message) => {
    // A message whose call was closed can be a copy, with its calls where every client sends them from.
    if (given.some(({ id }) => id === message.id)) return message.id ?? "";
    return `${Reflect.get(message, "tool_call_id")}: ${message.additional_kwargs["tether_placeholder"]}`;
  });
}

it.each(titled(BROKEN_HISTORIES))("%s", (_title, { messages, repaired }) => {
  const before = strictViolations(messages);
  const { messages: after, repairs } = repairHistory(messages);
  expect(draw(messages, after)).toEqual(repaired);
  expect(strictViolations(after)).toEqual([]);
  expect(repairs.length > 0).toBe(before.length > 0);
  const carried = repairs.flatMap((repair) => ("message" in repair ? [repair.message.id] : []));
  const kept = after.map(({ id }) => id);
  for (const { id } of messages) expect([...kept, ...carried]).toContain(id);
});
