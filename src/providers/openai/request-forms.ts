import { AIMessage } from "@langchain/core/messages";
import { InvalidSettingError } from "../../errors.js";
import { parseJson } from "../../shared/json.js";
import { isRecord, recordsIn } from "../../shared/values.js";
import {
  hasFunctions,
  hasOnlyRole,
  type PlacedMessage,
  plainText,
  type RequestForm,
  readEntries,
  readResult,
  readSpeaker,
  standIn,
} from "../request-form.js";
import type { Fields } from "../rule.js";

/** OpenAI's chat completions, and all hosts with that protocol. */
export const chatRequests: RequestForm = {
  dialect: "openai",
  list: "messages",
  isOf: (body, entries) =>
    entries.every(hasOnlyRole) && (typeof body["model"] === "string" || entries.some(hasFunctions)),
  read: (entries) =>
    readEntries(entries, (entry, index) => {
      const { role, content, name, tool_call_id } = entry;
      if (role === "tool") return [readResult(tool_call_id, content)];
      // The older form of a result has no id, and answers the message before it.
      if (role === "function" && isRecord(Object(entries[index - 1]).function_call))
        return [readSpeaker("user", [standIn(role)])];
      return [role === "assistant" ? readResponse(entry) : readSpeaker(role, content, name)];
    }),
  faultsOf: ({ content, role, tool_calls, function_call, refusal, audio }) => {
    const saysOther = role === "assistant" && (tool_calls || function_call || refusal || audio);
    const isEmpty = (content === undefined || content === null) && !saysOther;
    const hasObject = recordsIn(tool_calls).some((call) => isRecord(Object(call["function"]).arguments));
    return [
      ...(isEmpty ? [{ rule: "content-form", isQuoted: content === null } as const] : []),
      ...(hasObject ? [{ rule: "arguments", isQuoted: false } as const] : []),
    ];
  },
};

function readResponse({ content, tool_calls, function_call, reasoning_content }: Fields): AIMessage {
  const written = recordsIn(tool_calls).map(asFunction);
  const calls = written.map((call) => {
    const { name, arguments: given } = Object(call["function"]);
    return { id: call["id"], name, args: parseJson(String(given)), type: "tool_call" };
  });
  const isListed = calls.length > 0 && calls.every(({ args }) => isRecord(args));
  const message = new AIMessage({
    content: plainText(content) || (isRecord(function_call) ? "(function_call)" : ""),
    ...(isListed && { tool_calls: calls as never }),
    ...(reasoning_content !== undefined && { additional_kwargs: { reasoning_content } }),
  });
  // The constructor would read them. A client sends them as they are if no call is listed.
  if (!isListed && Array.isArray(tool_calls)) message.additional_kwargs["tool_calls"] = written as never;
  return message;
}

/** A custom call, whose input is a text, as a call of a function: LangChain's messages have no other in this API. */
function asFunction(call: Fields): Fields {
  const { custom } = call;
  return isRecord(custom) ? { ...call, function: { name: custom["name"], arguments: "{}" } } : call;
}

/** OpenAI's Responses. */
export const responsesRequests: RequestForm = {
  dialect: "openai-responses",
  list: "input",
  isOf: (body, entries) =>
    ("input" in body && "model" in body) || entries.some((item) => isCall(item) || isResult(item)),
  read: (entries, body) => {
    for (const name of ["previous_response_id", "conversation"])
      if (body[name] !== undefined && body[name] !== null)
        throw InvalidSettingError.expected(name, "left out", body[name], STORED);
    const reference = entries.find(isCallReference);
    if (reference !== undefined)
      throw InvalidSettingError.expected("item_reference", "left out", Object(reference).id, STORED);
    return readItems(entries);
  },
};

const STORED =
  " The request goes on with messages that OpenAI has stored, so its calls cannot be judged from the body.";
/** Calls and their results have no id that begins so. */
const isCallReference = (entry: unknown): boolean =>
  Object(entry).type === "item_reference" && !/^(?:rs|msg)_/.test(String(Object(entry).id));

const CUSTOM = "custom_tool_call";
const isCall = ({ type }: Fields): boolean => type === "function_call" || type === CUSTOM;
const isResult = ({ type }: Fields): boolean =>
  type === "function_call_output" || type === `${CUSTOM}_output`;

/** Whether it is a call whose input is a text, or its result. The API names them differently in its errors. */
export const isOfCustomCall = ({ type }: Fields): boolean => String(type).startsWith(CUSTOM);

/**
 * What the model wrote is a run of items, and becomes one message that stores them. A result can stand anywhere after its
 * call, and is read there.
 */
function readItems(entries: readonly unknown[]): PlacedMessage[] {
  const messages: PlacedMessage[] = [];
  const read = new Set<number>();
  const readResultAt = (index: number): void => {
    const { call_id, output } = Object(entries[index]);
    read.add(index);
    messages.push({ message: readResult(call_id, output), index });
  };
  let index = 0;
  while (index < entries.length) {
    let end = index;
    while (end < entries.length && isWritten(Object(entries[end]))) end += 1;
    const run = recordsIn(entries.slice(index, end));
    if (run.length > 0) messages.push({ message: readRun(run), index });
    for (const { call_id } of run.filter(isCall)) {
      const at = entries.findIndex(
        (entry, place) =>
          place >= end && !read.has(place) && isResult(Object(entry)) && Object(entry).call_id === call_id,
      );
      if (at >= 0) readResultAt(at);
    }
    const { role, content, type } = Object(entries[end]);
    if (role !== undefined) messages.push({ message: readSpeaker(role, content), index: end });
    else if (isResult({ type }) && !read.has(end)) readResultAt(end);
    index = end + 1;
  }
  return messages;
}

const isWritten = ({ role, type }: Fields): boolean =>
  (role === undefined || role === "assistant") && !String(type).endsWith("_output");

function readRun(run: readonly Fields[]): AIMessage {
  const said = run.filter(({ role }) => role === "assistant").map(({ content }) => plainText(content));
  const output = run.map((item) =>
    item["type"] === CUSTOM ? { ...item, type: "function_call", input: {} } : item,
  );
  return new AIMessage({ content: said.join(""), response_metadata: { output } });
}
