/**
 * Reads the body of a request to a provider, as people paste it from a refusal, into the messages that LangChain's client
 * would send as this body. Images and files are not judged, so a short text stands for each.
 */

import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { InvalidSettingError } from "../errors.js";
import type { DialectName } from "../providers/dialects.js";
import { parseJson } from "../shared/json.js";
import { isRecord, recordsIn } from "../shared/values.js";

type Fields = Readonly<Record<string, unknown>>;

/** A message, and the index of the entry in the list of the body that it is made from. */
interface PlacedMessage {
  readonly message: BaseMessage;
  readonly index: number;
}

export interface RequestBody {
  /** The dialect whose form the body has. */
  readonly dialect: DialectName;
  /** The name of the list in the body. */
  readonly name: "messages" | "input" | "contents";
  readonly entries: readonly unknown[];
  readonly messages: readonly PlacedMessage[];
  /** The indexes of entries that are not objects. */
  readonly foreign: readonly number[];
  /** Whether the first entry is one of the user, who sends results too. */
  readonly beginsWithUser: boolean;
  /** Faults of the form of entries that no message of LangChain can have. */
  readonly faults: readonly FormFault[];
  /** The ids of calls whose input is a text. The API names them differently in its errors. */
  readonly customCalls: ReadonlySet<unknown>;
}

interface FormFault {
  readonly rule: "content-form" | "arguments" | "role";
  readonly index: number;
  readonly name?: string;
  /** Whether it is the fault that the provider's error for the rule is about. */
  readonly isQuoted: boolean;
}

/**
 * Undefined for anything else, such as a list of LangChain's messages.
 *
 * @param value A body, or only the list in it.
 * @throws InvalidSettingError for a body that leaves out what the provider has stored.
 */
export function readRequestBody(value: unknown): RequestBody | undefined {
  const body = isRecord(value) ? value : {};
  const given = isRecord(value) ? (body["contents"] ?? body["input"] ?? body["messages"]) : value;
  const entries = typeof given === "string" && "model" in body ? [{ role: "user", content: given }] : given;
  if (!Array.isArray(entries)) return undefined;
  const fields = recordsIn(entries);
  if (fields.length === 0 && !(entries.length === 0 && ("contents" in body || isNamed(body))))
    return undefined;
  const request = (dialect: DialectName, name: RequestBody["name"], messages: readonly PlacedMessage[]) => ({
    dialect,
    name,
    entries,
    messages,
    foreign: [...entries.keys()].filter((index) => !isRecord(entries[index])),
    beginsWithUser: Object(entries.find((entry) => Object(entry).role !== "system")).role === "user",
    faults: [],
    customCalls: new Set(),
  });
  if (fields.length === 0 ? "contents" in body : fields.every(({ parts }) => Array.isArray(parts)))
    return request("gemini", "contents", readContents(entries));
  if (("input" in body && "model" in body) || fields.some(isItem)) {
    assertComplete(body);
    const custom = fields.filter(({ type }) => String(type).startsWith(CUSTOM_CALL));
    return {
      ...request("openai-responses", "input", readItems(entries)),
      customCalls: new Set(custom.map(({ call_id }) => call_id)),
    };
  }
  if (!fields.every(isEntry)) return undefined;
  if (isForAnthropic(body, fields))
    return { ...request("anthropic", "messages", readAnthropic(entries)), faults: anthropicFaults(entries) };
  const isChat = typeof body["model"] === "string" || fields.some(hasFunctions);
  return isChat
    ? { ...request("openai", "messages", readChat(entries)), faults: chatFaults(entries) }
    : undefined;
}

const isNamed = (body: Fields): boolean => typeof body["model"] === "string" || "anthropic_version" in body;
const CUSTOM_CALL = "custom_tool_call";
const isCallItem = ({ type }: Fields): boolean => type === "function_call" || type === CUSTOM_CALL;
const isResultItem = ({ type }: Fields): boolean =>
  type === "function_call_output" || type === `${CUSTOM_CALL}_output`;
const isItem = (item: Fields): boolean => isCallItem(item) || isResultItem(item);
const isEntry = ({ role, type, lc }: Fields): boolean =>
  typeof role === "string" && type === undefined && lc === undefined;
const hasFunctions = ({ tool_calls }: Fields): boolean =>
  recordsIn(tool_calls).some((call) => isRecord(call["function"]));

function isForAnthropic(body: Fields, entries: readonly Fields[]): boolean {
  const types = entries.flatMap(({ content }) => recordsIn(content).map(({ type }) => type));
  if (types.includes("tool_use") || types.includes("tool_result") || "anthropic_version" in body) return true;
  // Anthropic also has an endpoint for chat completions, with more roles.
  return (
    /^claude/.test(String(body["model"])) &&
    entries.every(({ role }) => role === "user" || role === "assistant") &&
    !entries.some(hasFunctions)
  );
}

function assertComplete(body: Fields): void {
  for (const name of ["previous_response_id", "conversation"])
    if (body[name] !== undefined && body[name] !== null)
      throw InvalidSettingError.expected(
        name,
        "left out",
        body[name],
        " The request goes on with messages that OpenAI has stored, so its calls cannot be judged from the body.",
      );
}

/** What stands for a part that is not judged. */
const standIn = (kind: unknown) => ({ type: "text", text: `(${String(kind)})` });

/** The content of a user, of which only texts are judged. */
function userContent(content: unknown) {
  if (!Array.isArray(content)) return content as string;
  return recordsIn(content).map((block) =>
    block["type"] === "text" || block["type"] === "input_text"
      ? { type: "text", text: block["text"] }
      : standIn(block["type"]),
  ) as never;
}

function plainText(content: unknown): string {
  if (typeof content === "string") return content;
  return recordsIn(content)
    .map(({ text, refusal, type }) => text ?? refusal ?? `(${String(type)})`)
    .join("");
}

function speaker(role: unknown, content: unknown, name?: unknown): BaseMessage {
  const fields = { content: userContent(content), ...(typeof name === "string" && { name }) };
  if (role === "user") return new HumanMessage(fields);
  if (role === "system" || role === "developer") return new SystemMessage(fields);
  return new ChatMessage({ ...fields, role: String(role) });
}

function result(callId: unknown, content: unknown): ToolMessage {
  return new ToolMessage({
    tool_call_id: typeof callId === "string" ? callId : "",
    content: plainText(content),
  });
}

/** OpenAI's chat completions, and all hosts with that protocol. */
function readChat(entries: readonly unknown[]): PlacedMessage[] {
  return placed(entries, (entry, index) => {
    const { role, content, name, tool_call_id } = entry;
    if (role === "tool") return [result(tool_call_id, content)];
    // The older form of a result has no id, and answers the message before it.
    if (role === "function" && isRecord(Object(entries[index - 1]).function_call))
      return [speaker("user", [standIn(role)])];
    return [role === "assistant" ? chatResponse(entry) : speaker(role, content, name)];
  });
}

function chatResponse({ content, tool_calls, function_call, reasoning_content }: Fields): AIMessage {
  const calls = recordsIn(tool_calls).map((call) => {
    const body = Object(call["function"]);
    return { id: call["id"], name: body.name, args: parseJson(String(body.arguments)), type: "tool_call" };
  });
  const isListed = calls.length > 0 && calls.every(({ args }) => isRecord(args));
  const message = new AIMessage({
    content: plainText(content) || (isRecord(function_call) ? "(function_call)" : ""),
    ...(isListed && { tool_calls: calls as never }),
    ...(reasoning_content !== undefined && { additional_kwargs: { reasoning_content } }),
  });
  // The constructor would read them. A client sends them as they are if no call is listed.
  if (!isListed && Array.isArray(tool_calls)) message.additional_kwargs["tool_calls"] = tool_calls;
  return message;
}

function chatFaults(entries: readonly unknown[]): FormFault[] {
  return entries.flatMap((entry, index) => {
    if (!isRecord(entry)) return [];
    const { content, role, tool_calls, function_call, refusal, audio } = entry;
    const saysOther = role === "assistant" && (tool_calls || function_call || refusal || audio);
    const isEmpty = (content === undefined || content === null) && !saysOther;
    const hasObject = recordsIn(tool_calls).some((call) => isRecord(Object(call["function"]).arguments));
    return [
      ...(isEmpty ? [{ rule: "content-form", index, isQuoted: content === null } as const] : []),
      ...(hasObject ? [{ rule: "arguments", index, isQuoted: false } as const] : []),
    ];
  });
}

/** Anthropic's Messages API: results are blocks of the user. */
function readAnthropic(entries: readonly unknown[]): PlacedMessage[] {
  return placed(entries, ({ role, content }) => {
    if (role === "assistant") return [anthropicResponse(content)];
    const author = role === "system" ? role : "user";
    if (!Array.isArray(content) || content.length === 0) return [speaker(author, content)];
    const messages: BaseMessage[] = [];
    let texts: Fields[] = [];
    const flush = () => {
      if (texts.length > 0) messages.push(speaker(author, texts));
      texts = [];
    };
    for (const block of recordsIn(content)) {
      if (block["type"] !== "tool_result") {
        texts.push(block);
        continue;
      }
      flush();
      const { tool_use_id, content: returned = "", is_error } = block;
      // Only an error must say something.
      const text = plainText(returned);
      messages.push(result(tool_use_id, text === "" && is_error !== true ? "(empty)" : text));
    }
    flush();
    return messages;
  });
}

/** A client sends a system message at the front beside the list, so the rules of messages do not refuse it. */
function anthropicFaults(entries: readonly unknown[]): FormFault[] {
  return entries.flatMap((entry, index) => {
    const { role } = Object(entry);
    const isKnown = role === "user" || role === "assistant" || (role === "system" && index > 0);
    return isKnown || !isRecord(entry) ? [] : [{ rule: "role", index, name: String(role), isQuoted: true }];
  });
}

function anthropicResponse(content: unknown): AIMessage {
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

/** Gemini: a result has no id, or the id of its call, and stands for the first open call of its name. */
function readContents(entries: readonly unknown[]): PlacedMessage[] {
  let open: { readonly id: string; readonly name: unknown }[] = [];
  return placed(entries, ({ role, parts }, index) => {
    const all = recordsIn(parts);
    if (role === "model") {
      const tool_calls = all.flatMap(({ function_call, functionCall = function_call }, place) => {
        if (!isRecord(functionCall)) return [];
        const { id = `call_${index}_${place}`, name, args = {} } = functionCall;
        return [{ id: String(id), name: String(name), args, type: "tool_call" as const }];
      });
      open = [...tool_calls];
      return [new AIMessage({ content: textParts(all), tool_calls: tool_calls as never })];
    }
    const results = all.flatMap(({ function_response, functionResponse = function_response }, place) => {
      if (!isRecord(functionResponse)) return [];
      const { id, name } = functionResponse;
      const call = open.find((one) => one.id === id) ?? open.find((one) => one.name === name) ?? open[0];
      open = open.filter((one) => one !== call);
      return [result(call?.id ?? `result_${index}_${place}`, "(result)")];
    });
    const texts = textParts(all);
    open = results.length > 0 ? open : [];
    return results.length > 0 && texts === "" ? results : [...results, speaker("user", texts)];
  });
}

/** The API reads names in both cases. */
const PAIRED_PARTS = ["functionCall", "functionResponse", "function_call", "function_response"];

function textParts(parts: readonly Fields[]) {
  const texts = parts
    .filter((part) => !PAIRED_PARTS.some((name) => name in part))
    .map((part) =>
      typeof part["text"] === "string" ? { type: "text", text: part["text"] } : standIn(Object.keys(part)[0]),
    );
  return (texts.length === 0 ? "" : texts) as never;
}

/**
 * OpenAI's Responses: what the model wrote is a run of items, and becomes one message that stores them. A result can stand
 * anywhere after its call.
 */
function readItems(entries: readonly unknown[]): PlacedMessage[] {
  const messages: PlacedMessage[] = [];
  const placedItems = new Set<number>();
  let run: Fields[] = [];
  let start = 0;
  const flush = (end: number) => {
    if (run.length === 0) return;
    const content = run
      .filter(({ role }) => role === "assistant")
      .map((item) => plainText(item["content"]))
      .join("");
    const output = run.map((item) =>
      item["type"] === CUSTOM_CALL ? { ...item, type: "function_call", input: {} } : item,
    );
    messages.push({ message: new AIMessage({ content, response_metadata: { output } }), index: start });
    for (const call of run.filter(isCallItem)) {
      const at = entries.findIndex(
        (entry, index) => index >= end && !placedItems.has(index) && isResultOf(entry, call["call_id"]),
      );
      if (at < 0) continue;
      placedItems.add(at);
      messages.push({ message: result(call["call_id"], Object(entries[at]).output), index: at });
    }
    run = [];
  };
  for (const [index, entry] of entries.entries()) {
    const { type, role, content, call_id, output } = Object(entry);
    const isSaid = role !== undefined && role !== "assistant";
    if (!isSaid && !String(type).endsWith("_output")) {
      if (run.length === 0) start = index;
      run.push(Object(entry));
      continue;
    }
    flush(index);
    if (isSaid) messages.push({ message: speaker(role, content), index });
    else if (isResultItem({ type }) && !placedItems.has(index))
      messages.push({ message: result(call_id, output), index });
  }
  flush(entries.length);
  return messages;
}

const isResultOf = (entry: unknown, callId: unknown): boolean =>
  isResultItem(Object(entry)) && Object(entry).call_id === callId;

function placed(
  entries: readonly unknown[],
  read: (entry: Fields, index: number) => readonly BaseMessage[],
): PlacedMessage[] {
  return entries.flatMap((entry, index) =>
    isRecord(entry) ? read(entry, index).map((message) => ({ message, index })) : [],
  );
}
