/** Chat Completions as OpenAI, DashScope and DeepSeek check them. */

import {
  type Fields,
  functionIn,
  isFields,
  isJsonObject,
  listIn,
  listOf,
  NAME,
  type Refusal,
  type RequestCheck,
  textOf,
} from "./refusal.js";

interface ChatProvider {
  readonly missing: (ids: readonly string[], index: number) => string;
  readonly orphan: string;
  readonly duplicate: (id: string, first: number, second: number) => string;
  readonly emptyCalls: (index: number) => string;
  /** Checks what only this provider checks. Returns the text of its error, or undefined. */
  readonly further: (message: Fields, index: number) => string | undefined;
  readonly answer: (message: string, param: string | null) => object;
}

const coded = (code: string | null) => (message: string, param: string | null) => ({
  error: { message, type: "invalid_request_error", param: code === null ? param : null, code },
});

const MISSING = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.`;

const OPENAI: ChatProvider = {
  missing: (ids) =>
    `${MISSING} The following tool_call_ids did not have response messages: ${ids.join(", ")}`,
  orphan:
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
  duplicate: (id, first, second) =>
    `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in messages[${first}] and messages[${second}].`,
  emptyCalls: (index) =>
    `Invalid 'messages[${index}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
  answer: coded(null),
  further: (message, index) => {
    for (const { id } of listOf(message["tool_calls"])) {
      if (textOf(id).length > 40)
        return `Invalid 'messages[${index}].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length ${textOf(id).length} instead.`;
    }
    const name = message["name"];
    if (name !== undefined && !NAME.test(textOf(name)))
      return `Invalid 'messages[${index}].name': string does not match pattern.`;
    return undefined;
  },
};

const DASHSCOPE_PREFIX = "<400> InternalError.Algo.InvalidParameter:";

const DASHSCOPE: ChatProvider = {
  missing: (_, index) =>
    `${DASHSCOPE_PREFIX} An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id". The following tool_call_ids did not have response messages: message[${index}].role`,
  orphan: `${DASHSCOPE_PREFIX} messages with role "tool" must be a response to a preceeding message with "tool_calls".`,
  duplicate: () =>
    `${DASHSCOPE_PREFIX} messages with role "tool" must be a response to a preceeding message with "tool_calls".`,
  emptyCalls: () => "Empty tool_calls is not supported in message",
  answer: coded("invalid_parameter_error"),
  further: (message, index) => {
    const role = textOf(message["role"]);
    if (!["system", "assistant", "user", "tool", "function"].includes(role))
      return `${role} is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.['${index}].role'`;
    if (!("content" in message)) return `Input error. Field required: input.messages.${index}.content`;
    if (listOf(message["tool_calls"]).some((call) => !isJsonObject(functionIn(call)["arguments"])))
      return `${DASHSCOPE_PREFIX} The "function.arguments" parameter of the code model must be in JSON format.`;
    return undefined;
  },
};

const DEEPSEEK: ChatProvider = {
  missing: () => `${MISSING} (insufficient tool messages following tool_calls message)`,
  orphan: "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
  duplicate: () => "Duplicate value for 'tool_call_id'",
  emptyCalls: (index) => `Invalid 'messages[${index}].tool_calls': empty array.`,
  answer: coded("invalid_request_error"),
  further: (message, index) => {
    if (listOf(message["content"]).some(({ type }) => type !== "text"))
      return `Failed to deserialize the JSON body into the target type: messages[${index}]: unknown variant \`image_url\`, expected \`text\``;
    if (message["role"] !== "assistant") return undefined;
    const saysNothing = [message["content"], ...listOf(message["content"]).map(({ text }) => text)].every(
      (text) => textOf(text) === "",
    );
    if (saysNothing && listOf(message["tool_calls"]).length === 0)
      return "Invalid assistant message: content or tool_calls must be set";
    if (typeof message["reasoning_content"] !== "string")
      return "The `reasoning_content` in the thinking mode must be passed back to the API.";
    return undefined;
  },
};

/** A host that uses OpenAI's protocol and refuses unknown fields. */
const GROQ: ChatProvider = {
  ...OPENAI,
  further: (message, index) =>
    "reasoning_content" in message
      ? `'messages.${index}' : for 'role:assistant' the following must be satisfied[('messages.${index}' : property 'reasoning_content' is unsupported)]`
      : OPENAI.further(message, index),
};

export const checkGroq: RequestCheck = (body) => checkMessages(body, GROQ);
export const checkOpenAI: RequestCheck = (body) => checkMessages(body, OPENAI);
export const checkDashScope: RequestCheck = (body) => checkMessages(body, DASHSCOPE);
export const checkDeepSeek: RequestCheck = (body) => checkMessages(body, DEEPSEEK);

/** DashScope's own protocol has the messages one level deeper. Its errors have only `code` and `message`. */
export const checkDashScopeNative: RequestCheck = (body) => {
  return checkMessages(isFields(body) ? body["input"] : undefined, {
    ...DASHSCOPE,
    answer: (message) => ({ code: "InvalidParameter", message, request_id: "strict" }),
  });
};

function checkMessages(body: unknown, provider: ChatProvider): Refusal | undefined {
  const messages = listIn(body, "messages");
  const refuse = (message: string, param: string | null = null): Refusal => ({
    status: 400,
    body: provider.answer(message, param),
  });
  if (messages.length === 0) {
    return refuse(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    );
  }
  let waiting: string[] = [];
  const answered = new Map<string, number>();
  for (const [index, message] of messages.entries()) {
    const role = message["role"];
    if (role === "tool") {
      const id = textOf(message["tool_call_id"]);
      const first = answered.get(id);
      if (waiting.includes(id)) waiting.splice(waiting.indexOf(id), 1);
      else if (first !== undefined)
        return refuse(provider.duplicate(id, first, index), `messages.[${index}].tool_call_id`);
      else return refuse(provider.orphan, `messages.[${index}].role`);
      answered.set(id, index);
    } else {
      if (waiting.length > 0) return refuse(provider.missing(waiting, index), `messages.[${index}].role`);
      answered.clear();
      if (Array.isArray(message["tool_calls"]) && message["tool_calls"].length === 0)
        return refuse(provider.emptyCalls(index));
      waiting = listOf(message["tool_calls"]).map(({ id }) => textOf(id));
    }
    const common = checkCommon(message, index) ?? provider.further(message, index);
    if (common !== undefined) return refuse(common);
  }
  return waiting.length > 0 ? refuse(provider.missing(waiting, messages.length)) : undefined;
}

function checkCommon(message: Fields, index: number): string | undefined {
  const calls = listOf(message["tool_calls"]);
  const { content } = message;
  const mayBeNull = message["role"] === "assistant" && calls.length > 0;
  if (content === null && !mayBeNull) return "Invalid value for 'content': expected a string, got null.";
  const parts = PARTS[textOf(message["role"])];
  const foreign = parts && listOf(content).find((part) => !parts.takes(part));
  if (foreign) return `Invalid value: '${textOf(foreign["type"])}'. Supported values are: ${parts.names}.`;
  if (message["role"] === "tool" && listOf(content).some(({ type }) => type !== "text"))
    return "Invalid value. Supported values are: 'text'.";
  for (const call of calls) {
    const name = textOf(functionIn(call)["name"]);
    if (!NAME.test(name))
      return `Invalid 'messages[${index}].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
  }
  return undefined;
}

/** The parts that a message of each role can have. */
const PARTS: Readonly<Record<string, { readonly names: string; readonly takes: (part: Fields) => boolean }>> =
  {
    assistant: { names: "'text' and 'refusal'", takes: ({ type }) => type === "text" || type === "refusal" },
    user: {
      names: "'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'",
      takes: ({ type, text, image_url, input_audio, file }) => {
        if (type === "text") return typeof text === "string";
        if (type === "image_url") return textOf(listOf([image_url])[0]?.["url"]) !== "";
        if (type === "input_audio")
          return ["wav", "mp3"].includes(textOf(listOf([input_audio])[0]?.["format"]));
        return type === "file" && listOf([file]).length > 0;
      },
    },
  };
