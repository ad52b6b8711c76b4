/** The items of a response that OpenAI's Responses API stores, as LangChain's messages name them. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/messages/call.js";
import { isResult } from "../../history/messages/result.js";
import { isRecord } from "../../shared/is-record.js";

const FUNCTION_ITEM_IDS = "__openai_function_call_ids__";

/** The ids of stored items that the client would send with a message. */
export function storedItemIds(message: BaseMessage): string[] {
  const own = String(message.id ?? "");
  if (isResult(message)) return own.startsWith("fc_") ? [own] : [];
  if (!isAIMessage(message)) return [];
  const output = storedOutput(message);
  if (output !== undefined) return output.map((item) => read(item, "id")).filter((id) => id !== undefined);
  const functionIds = functionItemIds(message);
  const reasoning = read(message.additional_kwargs?.["reasoning"], "id");
  return [
    ...(own.startsWith("msg_") ? [own] : []),
    ...(reasoning === undefined ? [] : [reasoning]),
    ...(message.tool_calls ?? []).flatMap(({ id }) => functionIds?.get(id ?? "") ?? []),
  ];
}

/** The items of the stored response, which are sent in place of the message. Undefined if there are none. */
export function storedOutput(message: BaseMessage): readonly unknown[] | undefined {
  const output: unknown = message.response_metadata?.["output"];
  return Array.isArray(output) && output.length > 0 ? output : undefined;
}

/** The id of reasoning that is the last of these items. The API demands the item that followed it. */
export function trailingReasoning(output: readonly unknown[] = []): string | undefined {
  const last = output.at(-1);
  return read(last, "type") === "reasoning" ? (read(last, "id") ?? "") : undefined;
}

/** The item id of each call, by the id of the call. */
export function functionItemIds(message: BaseMessage): ReadonlyMap<string, string> | undefined {
  const ids: unknown = message.additional_kwargs?.[FUNCTION_ITEM_IDS];
  if (!isRecord(ids)) return undefined;
  return new Map(
    Object.entries(ids).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** The ids of the calls in a stored response. */
export function callIdsOfOutput(output: readonly unknown[]): string[] {
  return output
    .filter((item) => read(item, "type") === "function_call")
    .map((item) => read(item, "call_id") ?? "");
}

function read(value: unknown, name: string): string | undefined {
  const field = isRecord(value) ? value[name] : undefined;
  return typeof field === "string" ? field : undefined;
}
