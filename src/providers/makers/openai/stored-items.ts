/** The items of a response that OpenAI's Responses API stores, as LangChain's messages name them. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/call.js";
import { contentText } from "../../../history/message.js";
import { isResult } from "../../../history/result.js";
import { asText, parseJson, toJson } from "../../../shared/json.js";
import { isRecord, recordsIn, textIn } from "../../../shared/values.js";
import type { Fields } from "../../contract/rule.js";

const FUNCTION_ITEM_IDS = "__openai_function_call_ids__";
const CUSTOM_ITEM_IDS = "__openai_custom_tool_call_ids__";

/** The ids of stored items that the client would send with a message. */
export function storedItemIds(message: BaseMessage): string[] {
  const own = String(message.id ?? "");
  if (isResult(message)) return own.startsWith("fc_") ? [own] : [];
  if (!isAIMessage(message)) return [];
  const output = storedOutput(message);
  if (output !== undefined) return output.flatMap((item) => textIn(item, "id") || []);
  const functionIds = functionItemIds(message);
  const reasoning = textIn(message.additional_kwargs?.["reasoning"], "id") || [];
  const calls = (message.tool_calls ?? []).flatMap(({ id }) => functionIds.get(id) ?? []);
  return [own.startsWith("msg_") ? own : [], reasoning, calls].flat();
}

/** The stored response's items, which are sent instead of the message. Undefined if there are none. */
export function storedOutput(message: BaseMessage): readonly unknown[] | undefined {
  const output: unknown = message.response_metadata?.["output"];
  return Array.isArray(output) && output.length > 0 ? output : undefined;
}

/** The id of stored reasoning that is the last of these items. The API demands the item that followed it. */
export function trailingReasoning(output: readonly unknown[] = []): string | undefined {
  const last = output.at(-1);
  return textIn(last, "type") === "reasoning" ? textIn(last, "id") || undefined : undefined;
}

/** Each call's item id, by the call's id. */
export function functionItemIds(message: BaseMessage): ReadonlyMap<unknown, string> {
  const ids: unknown = message.additional_kwargs?.[FUNCTION_ITEM_IDS];
  if (!isRecord(ids)) return new Map();
  return new Map(Object.entries(ids).flatMap(([id, item]) => (typeof item === "string" ? [[id, item]] : [])));
}

/** A call in a stored response, as the client lists it. */
interface StoredCall {
  readonly id: string;
  readonly name: string;
  /** Undefined if they cannot be read. */
  readonly args: unknown;
}

/** A stored response's calls, each with its item. */
const CALL_ITEMS: Readonly<Record<string, CallItem>> = {
  function_call: {
    read: ({ name, arguments: written }) => ({ name, args: parseJson(asText(written)) }),
    write: ({ name, args }) => ({ name, arguments: JSON.stringify(args) }),
  },
  // The input of a custom tool is a text.
  custom_tool_call: {
    read: ({ name, input }) => ({ name, args: { input } }),
    write: ({ name, args }) => ({ name, input: textIn(args, "input") ?? JSON.stringify(args) }),
  },
  computer_call: {
    read: ({ action }) => ({ name: "computer_use", args: { action } }),
    write: ({ args }) => ({ action: isRecord(args) ? args["action"] : args }),
  },
};

interface CallItem {
  readonly read: (item: Fields) => { readonly name: unknown; readonly args: unknown };
  readonly write: (call: StoredCall) => Fields;
}

function callItemOf(item: unknown): CallItem | undefined {
  const type = textIn(item, "type");
  return type !== undefined && Object.hasOwn(CALL_ITEMS, type) ? CALL_ITEMS[type] : undefined;
}

/** An item's call. Undefined for an item that is not a call. */
export function callOfItem(item: unknown): StoredCall | undefined {
  const form = callItemOf(item);
  if (form === undefined || !isRecord(item)) return undefined;
  const { name, args } = form.read(item);
  return { id: textIn(item, "call_id") ?? "", name: typeof name === "string" ? name : "", args };
}

export function isCustomItem(item: unknown): boolean {
  return textIn(item, "type") === "custom_tool_call";
}

/**
 * The items with these calls' names and arguments, which are theirs by id and in order. The same items if they already
 * have them. Undefined if other calls are stored.
 */
export function itemsWithCalls(
  output: readonly unknown[],
  calls: readonly StoredCall[],
): readonly unknown[] | undefined {
  const stored = output.flatMap((item) => callOfItem(item)?.id ?? []);
  if (stored.join("\n") !== calls.map(({ id }) => id).join("\n")) return undefined;
  const left = [...calls];
  const items = output.map((item) => {
    const written = callOfItem(item);
    const call = written && left.shift();
    if (call === undefined || !isRecord(item)) return item;
    const isSame = written?.name === call.name && toJson(written.args) === toJson(call.args);
    return isSame ? item : { ...item, ...callItemOf(item)?.write(call) };
  });
  return items.every((item, index) => item === output[index]) ? output : items;
}

/** Whether somebody changed the message so that a text of the stored response is no longer in it. */
export function hasOtherText(output: readonly unknown[], message: AIMessage): boolean {
  const text = contentText(message);
  const parts = recordsIn(output).flatMap((item) => recordsIn(item["content"]));
  return parts.some((part) => part["type"] === "output_text" && !text.includes(asText(part["text"]).trim()));
}

/** The ids of a message's custom tool calls, as the client finds them. */
export function customCallIds(message: AIMessage): ReadonlySet<string> {
  const output = storedOutput(message);
  if (output !== undefined)
    return new Set(output.filter(isCustomItem).map((item) => textIn(item, "call_id") ?? ""));
  const named: unknown = message.additional_kwargs?.[CUSTOM_ITEM_IDS];
  const ids = (message.tool_calls ?? []).map(({ id, ...call }) =>
    Reflect.get(call, "isCustomTool") === true || (isRecord(named) && Object.hasOwn(named, asText(id)))
      ? [asText(id)]
      : [],
  );
  return new Set(ids.flat());
}

/** The client looks for this field of a result. */
export const CUSTOM_RESULT = "customTool";

export function isCustomResult(message: BaseMessage): boolean {
  return Boolean(message.additional_kwargs?.[CUSTOM_RESULT]);
}
