/** Checks ids, names and arguments of tool calls. */

import { callIdOf, isResult } from "../../../history/messages/result.js";
import { isRecord } from "../../../shared/is-record.js";
import { toJson } from "../../../shared/to-json.js";
import type { Check, Fault } from "./check.js";

export const checkNames: Check = (messages, { callId, toolName, callPlaces }) => {
  const faults: Fault[] = [];
  const used = new Set<string>();
  for (const { message, index, calls, role } of messages) {
    if (isResult(message) && !callId.test(callIdOf(message)))
      faults.push({ rule: "call-id", index, id: callIdOf(message) });
    for (const { id, name, args } of calls) {
      if (!callId.test(id)) faults.push({ rule: "call-id", index, id });
      if (used.has(id)) faults.push({ rule: "repeated-call-id", index, id });
      used.add(id);
      if (!toolName.test(name)) faults.push({ rule: "tool-name", index, name });
      if (!isRecord(args) || toJson(args) === undefined) faults.push({ rule: "arguments", index, id });
    }
    const raw: unknown = message.additional_kwargs?.["tool_calls"];
    if (role === "assistant" && callPlaces.includes("raw") && Array.isArray(raw) && raw.length === 0) {
      if (calls.length === 0) faults.push({ rule: "empty-calls", index });
    }
    const name: unknown = message.name;
    if (name !== undefined && name !== null && !MESSAGE_NAME.test(String(name)))
      faults.push({ rule: "message-name", index, name: String(name) });
  }
  return faults;
};

const MESSAGE_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
