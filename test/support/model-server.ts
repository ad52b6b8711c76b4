/** A small OpenAI-compatible chat server on 127.0.0.1, whose responses can break in chosen ways, streamed or in one piece. */

import { createServer, type ServerResponse } from "node:http";
import { listen } from "./listen.js";

export interface ChatRequest {
  readonly stream: boolean;
  /** Whether the same messages were sent before. */
  readonly isAgain: boolean;
  /** A content that the client sends as a list of nothing but texts is here one text. */
  readonly messages: readonly { readonly role: string; readonly content?: string }[];
  readonly tools: readonly unknown[];
}

export interface WantedReply {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  /** How the response breaks. If the same messages are sent again, the response is complete. */
  readonly fault?: Fault | undefined;
  /** The finish reason in place of `stop` and `tool_calls`. `null`: this server sends none. */
  readonly finish?: string | null;
}

export interface Refused {
  readonly status: number;
  readonly message: string;
}

/** A response, or an error: its HTTP status, or that with the words. */
export type Respond = (request: ChatRequest) => WantedReply | Refused | number;

interface CallPiece {
  readonly id?: string;
  readonly type?: string;
  function: { readonly name?: string; readonly arguments: string };
}

interface Delta {
  readonly content?: string;
  readonly tool_calls?: readonly (CallPiece & { readonly index: number })[];
}

interface Broken {
  readonly deltas: readonly Delta[];
  readonly finish?: string;
  /** `done`: with the usage and `[DONE]`. `uncounted`: with only the latter. @default "done" */
  readonly end?: "done" | "uncounted" | "end" | "reset" | "half-line" | "error-event";
}

const cut = (deltas: readonly Delta[]) => deltas.slice(0, -2);
const textOnly = (deltas: readonly Delta[]) => deltas.filter(({ tool_calls }) => tool_calls === undefined);
const LEAK =
  '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{"city": "X"}\n```<｜tool▁call▁end｜>';

/**
 * How a response breaks: which of its deltas arrive, and how it ends. In one piece, it is the body of these deltas, which ends in
 * the same way.
 */
export const FAULTS = {
  "without a finish reason": (deltas) => ({ deltas, end: "uncounted" }),
  "by the end of its body": (deltas) => ({ deltas: cut(deltas), end: "end" }),
  "by a reset connection": (deltas) => ({ deltas: cut(deltas), end: "reset" }),
  "by a reset before the first chunk": () => ({ deltas: [], end: "reset" }),
  "in the middle of a line": (deltas) => ({ deltas: cut(deltas), end: "half-line" }),
  "with an error event": (deltas) => ({ deltas: cut(deltas), end: "error-event" }),
  "with arguments cut off by the token limit": (deltas) => ({ deltas: cut(deltas), finish: "length" }),
  "with whole arguments at the token limit": (deltas) => ({ deltas, finish: "length" }),
  "with cut-off arguments that are called finished": (deltas) => ({
    deltas: cut(deltas),
    finish: "tool_calls",
  }),
  "with calls announced and none there": (deltas) => ({ deltas: textOnly(deltas), finish: "tool_calls" }),
  "with nothing in it": () => ({ deltas: [], finish: "stop" }),
  "with no chunk at all": () => ({ deltas: [], end: "end" }),
  "with leaked markup": (deltas) => ({
    deltas: [...cut(textOnly(deltas)), { content: LEAK }],
    finish: "stop",
  }),
  "after another text": () => ({
    deltas: [{ content: "Quite " }, { content: "another text" }],
    end: "uncounted",
  }),
  "with the provider out of resources": (deltas) => ({
    deltas: cut(deltas),
    finish: "insufficient_system_resource",
  }),
} as const satisfies Record<string, (deltas: readonly Delta[]) => Broken>;

export type Fault = keyof typeof FAULTS;

/** Faults that break tool calls only. A text that is cut off at the token limit is still a response. */
export const CALL_FAULTS: ReadonlySet<Fault> = new Set<Fault>([
  "with arguments cut off by the token limit",
  "with whole arguments at the token limit",
  "with cut-off arguments that are called finished",
]);

/** Faults that only streams have. In one piece, the response of each is parsed to its end, and is what the model said. */
export const STREAM_FAULTS: ReadonlySet<Fault> = new Set<Fault>([
  "without a finish reason",
  "with cut-off arguments that are called finished",
  "after another text",
]);

export interface ModelServer {
  readonly url: string;
  readonly requests: readonly ChatRequest[];
  /** The bodies of the requests, as they arrived. */
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
  stop(): Promise<void>;
}

/** @param idOf Makes the id of the nth response. Some servers repeat their ids. */
export async function startModelServer(
  respond: Respond,
  idOf = (count: number) => `chatcmpl-${count}`,
): Promise<ModelServer> {
  const requests: ChatRequest[] = [];
  const bodies: Record<string, unknown>[] = [];
  const sent = new Set<string>();
  /** A request that is never answered looks as if its client hung. */
  const replyTo = (chat: ChatRequest): ReturnType<Respond> => {
    try {
      return respond(chat);
    } catch (error) {
      console.log(error);
      return 500;
    }
  };
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const asked = JSON.stringify(body.messages);
    const chat: ChatRequest = {
      stream: body.stream === true,
      isAgain: sent.has(asked),
      messages: body.messages.map(withPlainText),
      tools: body.tools ?? [],
    };
    requests.push(chat);
    bodies.push(body);
    sent.add(asked);
    const reply = replyTo(chat);
    const head = { id: idOf(requests.length), created: 1, model: "test" };
    if (typeof reply === "number") sendJson(response, { error: { message: `refused with ${reply}` } }, reply);
    else if ("status" in reply) sendJson(response, { error: { message: reply.message } }, reply.status);
    else {
      const broken = brokenOf(chat.isAgain ? { ...reply, fault: undefined } : reply);
      if (chat.stream) await sendStream(response, head, broken);
      else sendBody(response, head, broken);
    }
  });
  const { url, stop } = await listen(server);
  return { url: `${url}/v1`, requests, bodies, stop };
}

function withPlainText(message: { readonly role: string; readonly content?: unknown }) {
  const { content } = message;
  const isPlain = Array.isArray(content) && content.every(({ type }) => type === "text");
  return { ...message, content: isPlain ? content.map(({ text }) => text).join("") : content };
}

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

let callCount = 0;

function toCalls({ calls = [] }: WantedReply) {
  return calls.map(({ name, args }) => {
    callCount += 1;
    return { id: `call_${callCount}`, type: "function", function: { name, arguments: JSON.stringify(args) } };
  });
}

/** The response as it arrives. One without a fault is complete. */
function brokenOf(reply: WantedReply): Broken {
  const deltas = toDeltas(reply);
  if (reply.fault !== undefined) return FAULTS[reply.fault](deltas);
  const { calls = [], finish = calls.length > 0 ? "tool_calls" : "stop" } = reply;
  return finish === null ? { deltas } : { deltas, finish };
}

function sendJson(response: ServerResponse, body: object, status = 200): void {
  // LangChain's client retries a 429 only if it says when.
  response
    .writeHead(status, { "content-type": "application/json", "retry-after": "0" })
    .end(JSON.stringify(body));
}

async function sendStream(
  response: ServerResponse,
  head: object,
  { deltas, finish, end = "done" }: Broken,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  const sendLine = (choices: readonly object[], more: object = {}) =>
    response.write(
      `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...more })}\n\n`,
    );
  const sendDelta = (delta: object, finish_reason: string | null = null) =>
    sendLine([{ index: 0, delta, finish_reason }]);
  if (deltas.length > 0) sendDelta({ role: "assistant", content: "" });
  for (const delta of deltas) {
    sendDelta(delta);
    // A pause, so that the pieces arrive separately.
    await new Promise(setImmediate);
  }
  if (finish !== undefined) sendDelta({}, finish);
  if (end === "reset") setTimeout(() => response.destroy(), 5);
  else if (end === "error-event") response.end(`data: ${JSON.stringify(OVERLOADED)}\n\n`);
  else if (end === "half-line") response.end('data: {"id": "x", "choices": [{"ind');
  else if (end === "end") response.end();
  else {
    if (end !== "uncounted") sendLine([], { usage: USAGE });
    response.end("data: [DONE]\n\n");
  }
}

/** The same in one piece. A body that does not come to its end is half of it. */
function sendBody(response: ServerResponse, head: object, { deltas, finish, end = "done" }: Broken): void {
  const choice = { index: 0, message: joined(deltas), finish_reason: finish ?? null };
  const body = { ...head, object: "chat.completion", choices: [choice], usage: USAGE };
  if (end === "done" || end === "error-event") {
    sendJson(response, end === "done" ? body : OVERLOADED);
    return;
  }
  const text = deltas.length === 0 ? "" : JSON.stringify(body);
  response.writeHead(200, { "content-type": "application/json" });
  response.flushHeaders();
  response.write(text.slice(0, text.length / 2));
  if (end === "reset") setTimeout(() => response.destroy(), 5);
  else response.end();
}

const OVERLOADED = { error: { message: "overloaded", code: null } };

/** The message of these deltas. Its calls can be as cut off as theirs. */
function joined(deltas: readonly Delta[]): object {
  const calls: CallPiece[] = [];
  for (const { index, ...piece } of deltas.flatMap(({ tool_calls = [] }) => tool_calls)) {
    const call = calls[index];
    if (call === undefined) calls[index] = piece;
    else call.function = { ...call.function, arguments: call.function.arguments + piece.function.arguments };
  }
  const text = deltas.map(({ content = "" }) => content).join("");
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function toDeltas(reply: WantedReply): Delta[] {
  const words = (reply.text ?? "").split(/(?<= )/).filter((word) => word !== "");
  return [
    ...words.map((content) => ({ content })),
    ...toCalls(reply).flatMap(({ function: { name, arguments: args }, ...call }, index) => [
      { tool_calls: [{ ...call, index, function: { name, arguments: "" } }] },
      ...(args.match(/.{1,4}/gs) ?? []).map((piece) => ({
        tool_calls: [{ index, function: { arguments: piece } }],
      })),
    ]),
  ];
}
