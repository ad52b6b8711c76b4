/** What a human is asked, in the forms of this library and of LangChain's `humanInTheLoopMiddleware`. */

import { toJson } from "../../shared/json.js";
import { printable } from "../../shared/text.js";
import { isRecord, recordsIn } from "../../shared/values.js";
import { nameIn } from "./message-view.js";
import type { Question } from "./thread-view.js";

/** @param interrupt The value of an interrupt, or an interrupt. Of another form, all of it is shown. */
export function questionsIn(interrupt: unknown): readonly Question[] {
  const value = isRecord(interrupt) && "value" in interrupt ? interrupt["value"] : interrupt;
  const asked = isRecord(value) ? (value["action_requests"] ?? value["actionRequests"]) : undefined;
  const rules = recordsIn(isRecord(value) ? (value["review_configs"] ?? value["reviewConfigs"]) : undefined);
  const requests = recordsIn(asked);
  if (requests.length === 0) return [{ tool: "", text: lines(value), arguments: "", decisions: [] }];
  return requests.map(({ name, args, description }, index) => {
    const rule =
      rules.find((one) => (one["action_name"] ?? one["actionName"]) === name) ?? rules[index] ?? {};
    const allowed = rule["allowed_decisions"] ?? rule["allowedDecisions"];
    return {
      tool: nameIn(name),
      text: nameIn(description),
      arguments: lines(args),
      decisions: Array.isArray(allowed) ? allowed.map(nameIn) : [],
    };
  });
}

const LONGEST = 4_000;

function lines(value: unknown): string {
  const text = typeof value === "string" ? value : (toJson(value, undefined, 2) ?? "");
  return printable(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}
