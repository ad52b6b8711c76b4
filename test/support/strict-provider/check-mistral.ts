/** Mistral's validator (mistral-common, `instruct/validator.py`), on the wire format of its API. */

import {
  firstRepeated,
  functionIn,
  isJsonObject,
  listIn,
  listOf,
  NAME,
  type Refusal,
  type RequestCheck,
  textOf,
} from "./refusal.js";

/** A user after a result has been accepted since August 2026. */
const NEXT_ROLES: Readonly<Record<string, readonly string[]>> = {
  system: ["user", "assistant", "system"],
  user: ["assistant", "system", "user"],
  assistant: ["assistant", "user", "tool"],
  tool: ["assistant", "tool", "user"],
};

export const checkMistral: RequestCheck = (body) => {
  const messages = listIn(body, "messages");
  if (messages.length === 0) return refuse("Conversation must have at least one message", "3230");
  let expected: string[] = [];
  for (const [index, message] of messages.entries()) {
    const role = textOf(message["role"]);
    const before = messages[index - 1];
    const beforeRole = textOf(before?.["role"]);
    if (before !== undefined && NEXT_ROLES[beforeRole]?.includes(role) !== true)
      return refuse(`Unexpected role '${role}' after role '${beforeRole}'`, "3230");
    if (role === "tool") {
      const id = textOf(message["tool_call_id"]);
      if (!isId(id)) return refuse(badId(id), "3280");
      if (!expected.includes(id)) return refuse(`Unexpected tool call id ${id} in tool results`, "3230");
      expected = expected.filter((one) => one !== id);
      continue;
    }
    if (expected.length > 0) return refuse("Not the same number of function calls and responses", "3230");
    if (
      role === "user" &&
      listOf(message["content"]).some(({ type }) => type !== "text" && type !== "image_url")
    )
      return refuse("Input should be a valid content chunk", "3000");
    if (role !== "assistant") continue;
    const calls = listOf(message["tool_calls"]);
    if (calls.length === 0 && isEmpty(message["content"]))
      return refuse("Assistant message must have either content or tool_calls, but not none.", "3240");
    expected = calls.map(({ id }) => textOf(id));
    const illegal = expected.find((id) => !isId(id));
    if (illegal !== undefined) return refuse(badId(illegal), "3280");
    const repeated = firstRepeated(expected);
    if (repeated !== undefined)
      return refuse(`Duplicate tool call id ${repeated} in assistant message`, "3230");
    const name = calls.map((call) => textOf(functionIn(call)["name"])).find((one) => !NAME.test(one));
    if (name !== undefined)
      return refuse(
        `Function name was ${name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.`,
        "3280",
      );
  }
  if (expected.length > 0) return refuse("Not the same number of function calls and responses", "3230");
  const last = textOf(messages.at(-1)?.["role"]);
  if (last === "assistant")
    return refuse(
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
      "3230",
    );
  return undefined;
};

/** A server with Mistral's validator, and with OpenAI's form of errors. */
export const checkVllm: RequestCheck = (body, stored) => {
  const refusal = checkMistral(body, stored);
  return refusal && { ...refusal, body: { error: refusal.body } };
};

/** What a provider has counted. The mock gives it the names of each provider. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/**
 * Converts the events of the mock to Mistral's form: all calls are in one event, each of them complete, and the usage
 * is next to the finish reason. Mistral's client drops a last event without usage, and the reason with it.
 */
export function asMistralEvents(events: readonly string[], reported: Usage | undefined): string[] {
  const calls: { function: { name: string; arguments: string } }[] = [];
  return events.flatMap((event) => {
    const data = event.slice("data: ".length);
    const chunk = isJsonObject(data) ? JSON.parse(data) : undefined;
    const choice = chunk?.choices[0];
    for (const { index, ...piece } of choice?.delta.tool_calls ?? []) {
      const call = calls[index];
      if (call === undefined) calls[index] = piece;
      else call.function.arguments += piece.function.arguments;
    }
    if (choice?.delta.tool_calls !== undefined) return [];
    if (choice?.finish_reason == null) return [event];
    const delta = { content: "", ...(calls.length > 0 && { tool_calls: calls }) };
    const { prompt_tokens, completion_tokens } = reported ?? { prompt_tokens: 1, completion_tokens: 1 };
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    return [`data: ${JSON.stringify({ ...chunk, usage, choices: [{ ...choice, delta }] })}\n\n`];
  });
}

const isId = (id: string) => /^[a-zA-Z0-9]{9}$/.test(id);

const badId = (id: string) => `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`;

const isEmpty = (content: unknown) =>
  (content ?? "") === "" || (Array.isArray(content) && content.length === 0);

function refuse(message: string, code: string): Refusal {
  return { status: 400, body: { object: "error", message, type: "invalid_request_message_order", code } };
}
