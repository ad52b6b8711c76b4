/** Findings about the form of messages. */

import { isAIMessage } from "../../history/messages/call.js";
import { reasoningOf } from "../../providers/dialects/reasoning-field.js";
import type { RuleName } from "../../providers/dialects/rule.js";
import type { Finding, FindingCode, Severity } from "../finding.js";
import { finding, fix } from "./finding-of.js";
import type { FindingContext } from "./pairing-findings.js";
import { PAIRING_RULES, violationsOf } from "./provider-words.js";

/** The rules about the order of messages. All others are about the content of one. */
const ORDER_RULES: ReadonlySet<RuleName> = new Set<RuleName>([
  "system-position",
  "first-user",
  "assistant-last",
  "user-after-tool",
  "alternation",
  "call-position",
  "text-after-call",
  "empty-history",
]);

/** The rules of the dialect that the messages break, besides those of pairing. */
export function contentFindings({ found, sent, dialect }: FindingContext, severity: Severity): Finding[] {
  const { list, unsentCalls } = found;
  const told = new Set(unsentCalls.map(({ group }) => list.byMessage.get(group.head)?.index));
  const thinks = sent.some((message) => isAIMessage(message) && reasoningOf(message) !== undefined);
  return (
    violationsOf(sent, dialect, list.messages.length)
      .filter(({ rule, grade }) => !PAIRING_RULES.has(rule) && (severity === "error" || grade !== "inferred"))
      .filter(({ rule, index }) => rule !== "arguments" || !told.has(list.messages[index]?.index))
      // Only a model that thinks demands its reasoning back, and this thread shows none.
      .filter(({ rule }) => rule !== "missing-reasoning" || thinks)
      .map(({ rule, index, message, grade }) => {
        const read = list.messages[index];
        return finding(codeOf(rule), severity, {
          index: read?.index ?? null,
          messageId: read?.message.id ?? null,
          dialect,
          providerSays: grade === "inferred" ? null : message,
          evidence: `The message breaks the rule \`${rule}\` of \`${dialect}\`.`,
          fixes: [fix("at-request")],
        });
      })
  );
}

export function codeOf(rule: RuleName): FindingCode {
  return ORDER_RULES.has(rule) ? `order/${rule}` : `content/${rule}`;
}
