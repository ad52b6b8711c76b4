/** Checks the content of messages. */

import { listOf } from "../../../history/reading/read-messages.js";
import { isRecord } from "../../../shared/is-record.js";
import { MEDIA_FORMS } from "../media/media-forms.js";
import type { Dialect } from "../rule.js";
import type { Check, ReportFault } from "./check.js";
import { blockType, isBlank, type SentMessage, textOf } from "./sent-message.js";

export const checkContent: Check = (messages, dialect, report) => {
  for (const sent of messages) {
    checkForm(sent, dialect, report);
    checkBlanks(sent, report);
    checkBlockOrder(sent, report);
  }
};

function checkForm({ content, index, message, role }: SentMessage, dialect: Dialect, report: ReportFault) {
  const takesBlocks = role === "system" || dialect.blocksIn.some((type) => type === message.type);
  if (typeof content !== "string" && !(Array.isArray(content) && takesBlocks)) report("content-form", index);
  if (!Array.isArray(content)) return;
  const foreign = content.find(
    (block) =>
      (role === "assistant" && !dialect.assistantBlocks.includes(blockType(block))) ||
      (role === "user" && !isTaken(block, dialect)),
  );
  if (foreign !== undefined) report("foreign-block", index, { name: blockType(foreign) });
}

function isTaken(block: unknown, { media }: Dialect): boolean {
  return isRecord(block) && (block["type"] === "text" || MEDIA_FORMS[media].takes(block));
}

function checkBlanks({ content, calls, index, role }: SentMessage, report: ReportFault): void {
  const blank = isBlank(content);
  if (role === "user" && blank) report("blank-user", index);
  else if (role === "tool" && blank) report("blank-result", index);
  else if (role === "assistant" && blank && calls.length === 0) report("empty-assistant", index);
  else if (role === "system" && blank) report("blank-text", index);
  // Beside tool calls, an empty string is not a text, but a blank one is.
  else if (content !== "" && listOf(content).some((block) => textOf(block)?.trim() === ""))
    report("blank-text", index);
}

function checkBlockOrder({ content, calls, index }: SentMessage, report: ReportFault): void {
  if (!Array.isArray(content)) return;
  const types = content.map(blockType);
  const firstCall = types.indexOf("tool_use");
  if (firstCall >= 0 && types.lastIndexOf("text") > firstCall)
    report("text-after-call", index, { ids: calls.map(({ id }) => id).join(", ") });
}
