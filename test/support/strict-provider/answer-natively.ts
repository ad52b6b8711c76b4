/** The part of DashScope's own protocol that a chat needs. */

import type { Reply } from "./reply.js";

let count = 0;

/** A complete response in one JSON body. */
export function nativeBody({ text = "", calls = [], finish }: Reply): string {
  const tool_calls = toCalls(calls);
  const finish_reason = finish ?? (calls.length > 0 ? "tool_calls" : "stop");
  return toBody(finish_reason, { content: text, ...(calls.length > 0 && { tool_calls }) });
}

/**
 * The events of a stream. Only the first piece of a call has an id, and `"null"` means that there is no finish reason.
 */
export function nativeEvents({ text = "", calls = [], finish }: Reply): string[] {
  const words = text.split(/(?<= )/).map((content) => toBody("null", { content }));
  const pieces = toCalls(calls).flatMap(({ function: { name, arguments: args }, ...call }) => [
    toPiece({ ...call, function: { name, arguments: "" } }),
    ...(args.match(/.{1,4}/gs) ?? []).map((piece) =>
      toPiece({ ...call, id: "", function: { arguments: piece } }),
    ),
  ]);
  const last = toBody(finish ?? (calls.length > 0 ? "tool_calls" : "stop"), { content: "" });
  return [...words, ...pieces, last].map((body, index) => `id:${index + 1}\nevent:result\ndata:${body}\n\n`);
}

function toCalls(calls: NonNullable<Reply["calls"]>) {
  return calls.map(({ name, args }, index) => {
    count += 1;
    const call = { name, arguments: JSON.stringify(args) };
    return { index, id: `call_native_${count}`, type: "function", function: call };
  });
}

function toPiece(call: object): string {
  return toBody("null", { content: "", tool_calls: [call] });
}

function toBody(finish_reason: string, message: object): string {
  return JSON.stringify({
    request_id: "strict",
    output: { choices: [{ finish_reason, message: { role: "assistant", ...message } }] },
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  });
}
