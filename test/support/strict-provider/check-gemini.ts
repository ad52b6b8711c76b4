/** Gemini's `generateContent`. The client sends each result as a separate turn, but adjacent ones count as one. */

import { type Fields, listIn, listOf, merged, type Refusal, type RequestCheck, textOf } from "./refusal.js";

interface Turn {
  readonly role: string;
  readonly parts: readonly Fields[];
}

export const checkGemini: RequestCheck = (body) => {
  const contents = listIn(body, "contents");
  if (contents.length === 0) return refuse("contents is not specified");
  const given: Turn[] = contents.map(({ role, parts }) => ({ role: textOf(role), parts: listOf(parts) }));
  const turns = merged(given, (one, next) =>
    isResponses(one) && isResponses(next) ? { ...one, parts: [...one.parts, ...next.parts] } : undefined,
  );
  for (const [index, turn] of turns.entries()) {
    const fault = checkTurn(turns[index - 1], turn, turns[index + 1]);
    if (fault !== undefined) return refuse(fault);
  }
  return turns.at(-1)?.role === "user"
    ? undefined
    : refuse("Please ensure that multiturn requests ends with a user role or a function response.");
};

function checkTurn(before: Turn | undefined, turn: Turn, next: Turn | undefined): string | undefined {
  const { role, parts } = turn;
  if (parts.length === 0 || parts.some((part) => Object.keys(part).length === 0))
    return "contents.parts must not be empty";
  if (parts.some((part) => part["text"] === "")) return "contents.parts must not be empty";
  const media = parts.flatMap(({ inlineData, fileData }) => listOf([inlineData, fileData]));
  if (
    media.some(({ mimeType, data, fileUri }) => !textOf(mimeType).includes("/") || !textOf(data ?? fileUri))
  )
    return "Unable to submit request because it has a mimeType parameter with an unsupported value.";
  const calls = named(turn, "functionCall");
  const responses = named(turn, "functionResponse");
  for (const name of [...calls, ...responses]) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(name))
      return "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.";
  }
  if (calls.length > 0 && before?.role !== "user")
    return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
  if (calls.length > 0 && named(next, "functionResponse").join("\n") !== calls.join("\n"))
    return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
  if (responses.length > 0 && named(before, "functionCall").length === 0)
    return "Please ensure that function response turn comes immediately after a function call turn.";
  if (role === "model" && before?.role === "model")
    return "Please ensure that multiturn requests alternate between user and model.";
  if (parts.some((part) => textOf(part["thoughtSignature"]) === "c2lnbmVk"))
    return "Corrupted thought signature.";
  return undefined;
}

function named(turn: Turn | undefined, kind: "functionCall" | "functionResponse"): string[] {
  return (turn?.parts ?? []).flatMap((part) => listOf([part[kind]])).map(({ name }) => textOf(name));
}

function isResponses({ parts }: Turn): boolean {
  return parts.length > 0 && parts.every((part) => part["functionResponse"] !== undefined);
}

function refuse(message: string): Refusal {
  return { status: 400, body: { error: { code: 400, message, status: "INVALID_ARGUMENT" } } };
}
