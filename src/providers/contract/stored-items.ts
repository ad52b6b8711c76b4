/** The items of a response that OpenAI's Responses API stores, as LangChain's messages name them. */

import type { AIMessage, BaseMessage, ToolCall } from "@langchain/core/messages";
import { type Call, isAIMessage } from "../../history/call.js";
import { changeMessage, contentText } from "../../history/message.js";
import { isResult, type PlaceholderCause } from "../../history/result.js";
import { asText, parseJson, toJson } from "../../shared/json.js";
import { isPlainObject, isRecord, pickFields, recordsIn, textIn } from "../../shared/values.js";
import type { Fields } from "./dialect.js";

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

const COMPUTER = "computer_call";

/** The calls that the client lists, each with its item. */
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
  [COMPUTER]: {
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

function isCustomItem(item: unknown): boolean {
  return textIn(item, "type") === "custom_tool_call";
}

/**
 * The message's items with these calls' names and arguments, which are theirs by id and in order. The same items if they
 * already have them. Undefined if other calls are stored.
 */
export function itemsWithCalls(
  message: AIMessage,
  calls: readonly StoredCall[],
): readonly unknown[] | undefined {
  const output = storedOutput(message) ?? [];
  const asked = askedItems(message);
  const isListed = listedIn(message);
  const writtenIn = (item: unknown) => (asked.has(item) || isListed(item) ? callOfItem(item) : undefined);
  const stored = output.flatMap((item) => writtenIn(item)?.id ?? []);
  if (stored.join("\n") !== calls.map(({ id }) => id).join("\n")) return undefined;
  const left = [...calls];
  const items = output.map((item) => {
    const written = writtenIn(item);
    const call = written && left.shift();
    if (call === undefined || !isRecord(item)) return item;
    const isSame = written?.name === call.name && toJson(written.args) === toJson(call.args);
    return isSame ? item : { ...item, ...callItemOf(item)?.write(call) };
  });
  return items.every((item, index) => item === output[index]) ? output : items;
}

/*
 * Who answers a call. The API has more kinds of calls than the client lists, and each has an output of its own kind. The
 * provider runs some of them itself, and its response then shows it: it holds the output, or it continues after the call.
 */

/** The id of the call that an item makes. Undefined for an item that nobody answers, as one that OpenAI has run. */
function callIdOfItem(item: unknown): string | undefined {
  if (textIn(item, "execution") === "server") return undefined;
  const type = textIn(item, "type") ?? "";
  const id = type === APPROVAL ? textIn(item, "id") : type.endsWith("_call") ? textIn(item, "call_id") : "";
  return id || undefined;
}

const APPROVAL = "mcp_approval_request";

/** The ids of the calls that a message answers with its items, or a user with a decision. */
export function answeredIds(message: BaseMessage): readonly string[] {
  if (isResult(message)) return [];
  return recordsIn(isAIMessage(message) ? storedOutput(message) : message.content).flatMap(answeredBy);
}

function answeredBy(item: Fields): string | readonly string[] {
  const isOutput = asText(item["type"]).endsWith("_output");
  const id = isOutput ? (textIn(item, "call_id") ?? textIn(item, "id")) : textIn(item, "approval_request_id");
  return id ?? [];
}

/** Contract: whether the response continues after this item of its output, so that the item's call was run in between. */
type GoesOnAfter = (item: Fields, index: number) => boolean;

/** @param isAsked Whether an item is a call for the caller, which ends the response. */
function endOf(output: readonly Fields[], isAsked: (item: Fields) => boolean): GoesOnAfter {
  const text = output.findLastIndex(({ type }) => type === "message");
  const asked = output.findLastIndex(isAsked);
  return (item, index) =>
    item["type"] !== APPROVAL && (index < text || (isCustomItem(item) && index < asked));
}

/**
 * The items of a stored response that make calls which the caller answers. A call that the client has listed is one, even
 * if somebody has taken it from the list since.
 */
export function askedItems(message: AIMessage): ReadonlySet<unknown> {
  const output = recordsIn(storedOutput(message));
  const isListed = listedIn(message);
  const answered = new Set(output.flatMap(answeredBy));
  const goesOnAfter = endOf(output, isListed);
  return new Set(
    output.filter((item, index) => {
      const id = callIdOfItem(item);
      if (id === undefined || answered.has(id)) return false;
      return isListed(item) || !goesOnAfter(item, index);
    }),
  );
}

/** Whether the client has listed an item's call in this message. */
function listedIn({ tool_calls, invalid_tool_calls, additional_kwargs = {} }: AIMessage) {
  const ids = new Set<unknown>([
    ...[...recordsIn(tool_calls), ...recordsIn(invalid_tool_calls)].map(({ id }) => id),
    ...[FUNCTION_ITEM_IDS, CUSTOM_ITEM_IDS].flatMap((name) => Object.keys(Object(additional_kwargs[name]))),
  ]);
  return (item: unknown): boolean => ids.has(callIdOfItem(item) ?? "");
}

/**
 * The ids of the listed calls that the provider has run itself. The request declares no tool of their name, and the
 * response continues after them.
 *
 * @param tools The request's tools.
 */
export function runCallIds(message: AIMessage, tools: unknown): ReadonlySet<unknown> {
  const output = recordsIn(storedOutput(message));
  if (!output.some((item) => callOfItem(item) !== undefined)) return new Set();
  const declared = toolsIn(tools);
  const hasCustom = declared.some(({ isCustom }) => isCustom);
  const answered = new Set(output.flatMap(answeredBy));
  // A function is not called as a custom tool.
  const isDeclared = (item: Fields): boolean =>
    declared.some(({ name, isCustom }) => name === callOfItem(item)?.name && isCustom === isCustomItem(item));
  // A model can invent the name of a custom tool only if it knows one.
  const goesOnAfter = endOf(output, (item) => !hasCustom && isDeclared(item));
  const isRun = (item: Fields, index: number): boolean =>
    isWhole(item) && item["type"] !== COMPUTER && !isDeclared(item) && goesOnAfter(item, index);
  return new Set(
    output.flatMap((item, index) => {
      const { id } = callOfItem(item) ?? {};
      return id !== undefined && (answered.has(id) || isRun(item, index)) ? [id] : [];
    }),
  );
}

/**
 * The ids of the custom calls after which a response continues with a text. A call for the caller ends the response, so
 * these were run, even if a client has listed them.
 */
export function callsBeforeText(message: AIMessage): ReadonlySet<string> {
  const output = recordsIn(storedOutput(message));
  const isBeforeText = endOf(output, () => false);
  const run = output.filter(
    (item, index) => isCustomItem(item) && isWhole(item) && isBeforeText(item, index),
  );
  return new Set(run.flatMap((item) => textIn(item, "call_id") ?? []));
}

/** Some hosts give no status. */
function isWhole({ status }: Fields): boolean {
  return status === "completed" || status === undefined || status === null;
}

/** The tools whose calls the caller answers, also those in groups. */
function toolsIn(tools: unknown): readonly { readonly name: string; readonly isCustom: boolean }[] {
  return recordsIn(tools).flatMap((tool) => {
    const { type, function: body, custom, metadata, tools: inside } = tool;
    const name = [body, custom, tool]
      .map((fields) => textIn(fields, "name"))
      .find((each) => each !== undefined);
    const isCustom = type === "custom" || isRecord(Object(metadata)[CUSTOM_RESULT]);
    return [
      ...(name === undefined ? [] : [{ name, isCustom }]),
      ...(isPlainObject(tool) ? toolsIn(inside) : []),
    ];
  });
}

/**
 * Gives calls the arguments of their items, in the message itself. The client collects them from the pieces of a stream,
 * and some hosts send none.
 */
export function fillArguments(message: AIMessage): void {
  const written = new Map(
    recordsIn(storedOutput(message)).flatMap((item) => {
      const call = callOfItem(item);
      return call && isPlainObject(call.args) && Object.keys(call.args).length > 0
        ? [[call.id, call.args] as const]
        : [];
    }),
  );
  const { tool_calls = [] } = message;
  const filled = tool_calls.map((call) => {
    const args = written.get(call.id ?? "");
    return args !== undefined && Object.keys(call.args ?? {}).length === 0 ? { ...call, args } : call;
  });
  if (filled.every((call, index) => call === tool_calls[index])) return;
  // A chunk's pieces are parsed again when it is joined.
  const pieces = recordsIn(Reflect.get(message, "tool_call_chunks")).map((piece) => {
    const args = written.get(textIn(piece, "id") ?? "");
    return args !== undefined && !piece["args"] ? { ...piece, args: toJson(args) } : piece;
  });
  const fields = { tool_calls: filled, ...("tool_call_chunks" in message && { tool_call_chunks: pieces }) };
  changeMessage(message, fields);
}

/** Takes calls out of the client's lists, in the message itself. Their items stay. */
export function unlistCalls(message: AIMessage, ids: ReadonlySet<unknown>): void {
  const isLeft = ({ id }: { readonly id?: unknown }): boolean => !ids.has(id);
  const additional_kwargs = { ...message.additional_kwargs };
  for (const name of [FUNCTION_ITEM_IDS, CUSTOM_ITEM_IDS]) {
    const named: unknown = additional_kwargs[name];
    if (isRecord(named)) additional_kwargs[name] = pickFields(named, (id) => !ids.has(id));
  }
  const fields = {
    tool_calls: (message.tool_calls ?? []).filter(isLeft),
    invalid_tool_calls: (message.invalid_tool_calls ?? []).filter(isLeft),
    additional_kwargs,
  };
  // A chunk's pieces are parsed again when it is joined. Only the first piece of a call has its id.
  const pieces = recordsIn(Reflect.get(message, "tool_call_chunks"));
  const places = new Set(pieces.flatMap((piece) => (isLeft(piece) ? [] : [piece["index"]])));
  const tool_call_chunks = pieces.filter(
    ({ id, index }) => !ids.has(id) && !(id === undefined && places.has(index)),
  );
  changeMessage(message, { ...fields, ...("tool_call_chunks" in message && { tool_call_chunks }) });
}

/** A call that the client does not list, and that nobody has answered. */
export interface WaitingCall {
  readonly call: Call;
  readonly cause: PlaceholderCause;
  /** The output that says so in the call's own kind. */
  readonly close: (text: string) => Fields;
}

/** The calls of a stored response that are not in the client's lists, and that wait for the caller. */
export function waitingCalls(message: AIMessage): readonly WaitingCall[] {
  return [...askedItems(message)].flatMap((item) => {
    const id = callIdOfItem(item);
    if (id === undefined || !isRecord(item) || callItemOf(item) !== undefined) return [];
    const type = asText(item["type"]);
    const isApproval = type === APPROVAL;
    const name = textIn(item, "name") ?? type.replace(/_call$/, "");
    const { caller } = item;
    const close = (text: string): Fields => {
      const known = Object.hasOwn(CLOSINGS, type) ? CLOSINGS[type] : undefined;
      const fields = known?.(text) ?? { type: `${type}_output`, output: text };
      const named = isApproval ? { approval_request_id: id } : { call_id: id };
      return { ...fields, ...named, ...(isRecord(caller) && { caller }) };
    };
    return { call: { id, name, kind: "valid" }, cause: isApproval ? "declined" : "not-started", close };
  });
}

/**
 * What the API demands of an output that says in words that a call was not run. Others have a text. The forms are those
 * of OpenAI's own SDK: openai/openai-agents-js, `streamReconciliation.ts` and `toolExecution.ts`.
 */
const CLOSINGS: Readonly<Record<string, (text: string) => Fields>> = {
  [APPROVAL]: (reason) => ({ type: "mcp_approval_response", approve: false, reason }),
  shell_call: (stderr) => ({
    type: "shell_call_output",
    output: [{ stdout: "", stderr, outcome: { type: "exit", exit_code: 1 } }],
  }),
  apply_patch_call: (output) => ({ type: "apply_patch_call_output", status: "failed", output }),
  tool_search_call: () => ({
    type: "tool_search_output",
    execution: "client",
    status: "completed",
    tools: [],
  }),
};

/** Whether somebody changed the message so that a text of the stored response is no longer in it. */
export function hasOtherText(output: readonly unknown[], message: AIMessage): boolean {
  const text = contentText(message);
  const parts = recordsIn(output).flatMap((item) => recordsIn(item["content"]));
  return parts.some((part) => part["type"] === "output_text" && !text.includes(asText(part["text"]).trim()));
}

/** The client looks for this field of a result. */
const CUSTOM_RESULT = "customTool";

/** The kind of output that a listed call demands. Undefined: that of a function. */
export type OutputKind = "custom" | "computer" | undefined;

/** The kinds that a message's calls demand, by their ids, as the client finds them. */
export function outputKinds(message: AIMessage): ReadonlyMap<string, OutputKind> {
  const output = storedOutput(message);
  if (output !== undefined) {
    const items = recordsIn(output).map((item) => [textIn(item, "call_id") ?? "", kindOfItem(item)] as const);
    return new Map(items.filter(([, kind]) => kind !== undefined));
  }
  const named = Object(message.additional_kwargs?.[CUSTOM_ITEM_IDS]);
  const isCustom = ({ id, ...call }: ToolCall): boolean =>
    Reflect.get(call, "isCustomTool") === true || Object.hasOwn(named, asText(id));
  return new Map((message.tool_calls ?? []).filter(isCustom).map(({ id }) => [asText(id), "custom"]));
}

function kindOfItem(item: Fields): OutputKind {
  if (isCustomItem(item)) return "custom";
  return item["type"] === COMPUTER ? "computer" : undefined;
}

/** The kind in which the client sends a result. */
export function kindOfResult({ additional_kwargs }: BaseMessage): OutputKind {
  if (textIn(additional_kwargs, "type") === COMPUTER_RESULT) return "computer";
  return additional_kwargs?.[CUSTOM_RESULT] ? "custom" : undefined;
}

/** The result's fields with which the client sends it in this kind. */
export function fieldsOfKind({ additional_kwargs }: BaseMessage, kind: OutputKind): Record<string, unknown> {
  const others = pickFields(
    additional_kwargs ?? {},
    (name, value) => name !== CUSTOM_RESULT && !(name === "type" && value === COMPUTER_RESULT),
  );
  if (kind === "computer") return { ...others, type: COMPUTER_RESULT };
  return kind === "custom" ? { ...others, [CUSTOM_RESULT]: true } : others;
}

const COMPUTER_RESULT = "computer_call_output";

/**
 * Whether a result has a picture, which the API demands as the output of a computer call. A text is one if it is the
 * picture's data, or if its tool says so.
 */
export function hasScreenshot(result: BaseMessage): boolean {
  const { content } = result;
  if (typeof content === "string")
    return kindOfResult(result) === "computer" || content.startsWith("data:image/");
  return recordsIn(content).some(({ type }) => SCREENSHOTS.has(type));
}

/** A transparent pixel, as OpenAI's own SDK sends it if there is no screenshot (openai/openai-agents-js). */
const NO_PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

/** What a computer call's output has without a screenshot. It cannot hold words. */
export const NO_SCREENSHOT = { type: "computer_screenshot", image_url: NO_PICTURE };

/** A result without a screenshot, as the output of its computer call and a message with its words. */
export function computerItems(call_id: string, text: string): readonly Fields[] {
  return [
    { type: COMPUTER_RESULT, call_id, status: "incomplete", output: NO_SCREENSHOT },
    {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: `From the result of the call ${call_id}: ${text}` }],
    },
  ];
}

const SCREENSHOTS: ReadonlySet<unknown> = new Set([
  "input_image",
  "computer_screenshot",
  "image_url",
  "image",
]);
