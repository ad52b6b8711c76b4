/** Checks the content of messages. */

import { isRecord } from "../../../shared/is-record.js";
import { MEDIA_FORMS } from "../media/media-forms.js";
import type { Dialect } from "../rule.js";
import type { Check, Fault } from "./check.js";
import { blockType, isBlank, type SentMessage, textOf } from "./sent-message.js";

export const checkContent: Check = (messages, dialect) =>
  messages.flatMap((sent) => {
    const { content, index, message, role } = sent;
    if (typeof content !== "string" && !Array.isArray(content)) return [{ rule: "content-form", index }];
    const faults: Fault[] = [];
    const takesBlocks = dialect.blocksIn.some((type) => type === message.type);
    if (Array.isArray(content) && !takesBlocks && role !== "system")
      faults.push({ rule: "content-form", index });
    if (role === "assistant" && Array.isArray(content)) {
      const foreign = content.map(blockType).find((type) => !dialect.assistantBlocks.includes(type));
      if (foreign !== undefined) faults.push({ rule: "foreign-block", index, name: foreign });
    }
    if (role === "user" && Array.isArray(content)) {
      const foreign = content.find((block) => !isRecord(block) || !isTaken(block, dialect));
      if (foreign !== undefined) faults.push({ rule: "foreign-block", index, name: blockType(foreign) });
    }
    return [...faults, ...checkBlanks(sent), ...checkBlockOrder(sent)];
  });

function isTaken(block: Readonly<Record<string, unknown>>, { media }: Dialect): boolean {
  return block["type"] === "text" || MEDIA_FORMS[media].takes(block);
}

function checkBlanks({ content, calls, index, role }: SentMessage): Fault[] {
  const blank = isBlank(content);
  if (role === "user" && blank) return [{ rule: "blank-user", index }];
  if (role === "tool" && blank) return [{ rule: "blank-result", index }];
  if (role === "assistant" && blank && calls.length === 0) return [{ rule: "empty-assistant", index }];
  // Beside tool calls, an empty string is not a text, but a blank one is.
  const isBlankText =
    typeof content === "string"
      ? content !== "" && blank
      : Array.isArray(content) && content.some((block) => textOf(block)?.trim() === "");
  return isBlankText || (role === "system" && blank) ? [{ rule: "blank-text", index }] : [];
}

function checkBlockOrder({ content, calls, index }: SentMessage): Fault[] {
  if (!Array.isArray(content)) return [];
  const types = content.map(blockType);
  const firstCall = types.indexOf("tool_use");
  if (firstCall < 0 || types.lastIndexOf("text") < firstCall) return [];
  return [{ rule: "text-after-call", index, ids: calls.map(({ id }) => id) }];
}
