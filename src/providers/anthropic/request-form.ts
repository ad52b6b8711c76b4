import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { isRecord, recordsIn } from "../../shared/values.js";
import {
  hasFunctions,
  hasOnlyRole,
  plainText,
  type RequestForm,
  readEntries,
  readResult,
  readSpeaker,
} from "../request-form.js";
import type { Fields } from "../rule.js";

/** Anthropic's Messages API: results are blocks of the user. */
export const anthropicRequests: RequestForm = {
  dialect: "anthropic",
  list: "messages",
  isOf: (body, entries) => {
    if (!entries.every(hasOnlyRole)) return false;
    const types = entries.flatMap(({ content }) => recordsIn(content).map(({ type }) => type));
    if (types.includes("tool_use") || types.includes("tool_result") || "anthropic_version" in body)
      return true;
    // Anthropic also has an endpoint for chat completions, with more roles.
    const hasRoles = entries.every(({ role }) => role === "user" || role === "assistant");
    return /^claude/.test(String(body["model"])) && hasRoles && !entries.some(hasFunctions);
  },
  read: (entries) =>
    readEntries(entries, ({ role, content }) => {
      if (role === "assistant") return [readResponse(content)];
      const author = role === "system" ? role : "user";
      return Array.isArray(content) && content.length > 0
        ? readBlocks(author, recordsIn(content))
        : [readSpeaker(author, content)];
    }),
  // A client sends a system message at the front beside the list, so the rules of messages do not refuse it.
  faultsOf: ({ role }, index) => {
    const isKnown = role === "user" || role === "assistant" || (role === "system" && index > 0);
    return isKnown ? [] : [{ rule: "role", name: String(role), isQuoted: true }];
  },
};

function readBlocks(author: string, blocks: readonly Fields[]): BaseMessage[] {
  const messages: BaseMessage[] = [];
  let others: Fields[] = [];
  for (const block of [...blocks, undefined]) {
    if (block !== undefined && block["type"] !== "tool_result") {
      others.push(block);
      continue;
    }
    if (others.length > 0) messages.push(readSpeaker(author, others));
    others = [];
    if (block === undefined) continue;
    const text = plainText(block["content"] ?? "");
    // Only an error must say something.
    const isUnsaid = text === "" && block["is_error"] !== true;
    messages.push(readResult(block["tool_use_id"], isUnsaid ? "(empty)" : text));
  }
  return messages;
}

function readResponse(content: unknown): AIMessage {
  const calls = recordsIn(content).filter(({ type, input }) => type === "tool_use" && isRecord(input));
  const tool_calls = calls.map(({ id, name, input }) => ({ id, name, args: input, type: "tool_call" }));
  // A client would read a text as JSON, which the API does not.
  const blocks = recordsIn(content).map((block) =>
    typeof block["input"] === "string" ? { ...block, input: [] } : block,
  );
  return new AIMessage({
    content: (Array.isArray(content) ? blocks : content) as never,
    tool_calls: tool_calls as never,
  });
}
