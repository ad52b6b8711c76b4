import { AIMessage } from "@langchain/core/messages";
import { isRecord, recordsIn } from "../../shared/values.js";
import {
  type PlacedMessage,
  type RequestForm,
  readEntries,
  readResult,
  readSpeaker,
  standIn,
} from "../request-form.js";
import type { Fields } from "../rule.js";

/** Gemini's `generateContent`. */
export const geminiRequests: RequestForm = {
  dialect: "gemini",
  list: "contents",
  isOf: (body, entries) =>
    entries.length === 0 ? "contents" in body : entries.every(({ parts }) => Array.isArray(parts)),
  read: readContents,
};

/** A result has no id, or the id of its call, and stands for the first open call of its name. */
function readContents(entries: readonly unknown[]): PlacedMessage[] {
  let open: { readonly id: string; readonly name: unknown }[] = [];
  return readEntries(entries, ({ role, parts }, index) => {
    const all = recordsIn(parts);
    const texts = textParts(all);
    if (role === "model") {
      const tool_calls = all.flatMap(({ function_call, functionCall = function_call }, place) => {
        if (!isRecord(functionCall)) return [];
        const { id = `call_${index}_${place}`, name, args = {} } = functionCall;
        return [{ id: String(id), name: String(name), args, type: "tool_call" as const }];
      });
      open = [...tool_calls];
      return [new AIMessage({ content: texts as never, tool_calls: tool_calls as never })];
    }
    const results = all.flatMap(({ function_response, functionResponse = function_response }, place) => {
      if (!isRecord(functionResponse)) return [];
      const { id, name } = functionResponse;
      const call = open.find((one) => one.id === id) ?? open.find((one) => one.name === name) ?? open[0];
      open = open.filter((one) => one !== call);
      return [readResult(call?.id ?? `result_${index}_${place}`, "(result)")];
    });
    if (results.length === 0) open = [];
    return results.length > 0 && texts === "" ? results : [...results, readSpeaker("user", texts)];
  });
}

/** The API reads names in both cases. */
const PAIRED_PARTS = ["functionCall", "functionResponse", "function_call", "function_response"];

function textParts(parts: readonly Fields[]): string | readonly object[] {
  const texts = parts
    .filter((part) => !PAIRED_PARTS.some((name) => name in part))
    .map((part) =>
      typeof part["text"] === "string" ? { type: "text", text: part["text"] } : standIn(Object.keys(part)[0]),
    );
  return texts.length === 0 ? "" : texts;
}
