/** Checks which role follows which. */

import type { Check, Fault } from "./check.js";
import type { SentMessage } from "./sent-message.js";

const KNOWN_ROLES = new Set(["system", "user", "assistant", "tool"]);

export const checkOrder: Check = (messages) => {
  const talk = messages.filter(({ role }) => role !== "system");
  const [first] = talk;
  const last = talk.at(-1);
  if (first === undefined || last === undefined) return [{ rule: "empty-history", index: 0 }];
  const faults: Fault[] = [];
  if (first.role !== "user") faults.push({ rule: "first-user", index: first.index });
  if (last.role === "assistant") faults.push({ rule: "assistant-last", index: last.index });
  return faults.concat(messages.flatMap((sent, place) => checkStep(messages[place - 1], sent)));
};

function checkStep(before: SentMessage | undefined, { role, index, message, calls }: SentMessage): Fault[] {
  const faults: Fault[] = [];
  if (!KNOWN_ROLES.has(role) || message.type === "generic") faults.push({ rule: "role", index, name: role });
  if (role === "system" && index > 0)
    faults.push({ rule: "system-position", index, name: before?.role ?? "" });
  if (before === undefined) return faults;
  if (role === "user" && before.role === "tool") faults.push({ rule: "user-after-tool", index });
  if (role === before.role && (role === "user" || role === "assistant"))
    faults.push({ rule: "alternation", index });
  if (calls.length > 0 && before.role === "assistant") faults.push({ rule: "call-position", index });
  return faults;
}
