/** Checks which role follows which. */

import type { Check, ReportFault } from "./check.js";
import type { SentMessage } from "./sent-message.js";

const KNOWN_ROLES = new Set(["system", "user", "assistant", "tool"]);

export const checkOrder: Check = (messages, _dialect, report) => {
  const talk = messages.filter(({ role }) => role !== "system");
  const [first] = talk;
  const last = talk.at(-1);
  if (first === undefined || last === undefined) {
    report("empty-history", 0);
    return;
  }
  if (first.role !== "user") report("first-user", first.index);
  if (last.role === "assistant") report("assistant-last", last.index);
  for (const sent of messages) checkStep(messages[sent.index - 1], sent, report);
};

function checkStep(before: SentMessage | undefined, sent: SentMessage, report: ReportFault): void {
  const { role, index, message, calls } = sent;
  if (!KNOWN_ROLES.has(role) || message.type === "generic") report("role", index, { name: role });
  if (before === undefined) return;
  if (role === "system") report("system-position", index, { name: before.role });
  if (role === "user" && before.role === "tool") report("user-after-tool", index);
  if (role === before.role && (role === "user" || role === "assistant")) report("alternation", index);
  if (calls.length > 0 && before.role === "assistant") report("call-position", index);
}
