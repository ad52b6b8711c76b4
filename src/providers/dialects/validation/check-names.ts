/** Checks ids, names and arguments of tool calls. */

import { callIdOf, isResult } from "../../../history/messages/result.js";
import { isRecord } from "../../../shared/is-record.js";
import { toJson } from "../../../shared/to-json.js";
import { PLAIN_NAME } from "../rule.js";
import type { Check } from "./check.js";

export const checkNames: Check = (messages, { callId, toolName, callPlaces }, report) => {
  const used = new Set<string>();
  for (const { message, index, calls, role } of messages) {
    if (isResult(message) && !callId.test(callIdOf(message)))
      report("call-id", index, { id: callIdOf(message) });
    for (const { id, name, args } of calls) {
      if (!callId.test(id)) report("call-id", index, { id });
      if (used.has(id)) report("repeated-call-id", index, { id });
      used.add(id);
      if (!toolName.test(name)) report("tool-name", index, { name });
      if (!isRecord(args) || toJson(args) === undefined) report("arguments", index, { id });
    }
    const raw: unknown = message.additional_kwargs?.["tool_calls"];
    if (role === "assistant" && callPlaces.includes("raw") && Array.isArray(raw) && raw.length === 0) {
      if (calls.length === 0) report("empty-calls", index);
    }
    const name: unknown = message.name;
    if (name !== undefined && name !== null && !PLAIN_NAME.test(String(name)))
      report("message-name", index, { name: String(name) });
  }
};
