/**
 * Requests that a provider has accepted. The history of each is sent alone and with the library: the bodies must be equal, and
 * `validateHistory` must find nothing.
 */

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { validateHistory } from "../../src/index.js";
import { dialectOf } from "../../src/providers/table/dialect-of.js";
import { differencesOf } from "../../test/wire/unchanged/compare.js";
import type { Client } from "./clients.js";
import type { Found, Outcome } from "./found.js";
import { type Entry, historyIn } from "./histories.js";
import { human, play, type Scene, WAYS } from "./play.js";
import { answeredModel, countMessages, finalAnswer, inChunks, isStream, type Protocol } from "./protocols.js";
import type { Exchange } from "./read-exchanges.js";
import { bodyOf } from "./responses.js";
import { toolsOf } from "./tools.js";

/** Whether a provider has accepted a history with a response in it. */
export function isAcceptedHistory({ status, request }: Exchange, protocol: Protocol): boolean {
  return status < 300 && request !== undefined && countMessages(protocol, request) > 1;
}

/** Undefined: there is no history to send. */
export async function playRequest(
  exchange: Exchange,
  protocol: Protocol,
  client: Client,
): Promise<Outcome | undefined> {
  const { request = {} } = exchange;
  const model = answeredModel(exchange) ?? "";
  const entries = historyIn(protocol, request, model);
  if (entries === undefined || !entries.some((entry) => "response" in entry)) return undefined;
  const messages = await messagesOf(entries, protocol, client);
  if (typeof messages === "string") return { found: [], aloneError: messages };
  const answer: Scene["answer"] = ({ asksForStream }, place) =>
    finalAnswer(protocol, asksForStream, place, model);
  let scene: Scene = {
    ...toolsOf(protocol, request),
    create: client.create,
    isRead: isStream(exchange),
    answer,
    messages,
  };
  let alone = await play("alone", scene);
  if (alone.requests.length === 0) {
    scene = { ...scene, serverTools: [] };
    alone = await play("alone", scene);
  }
  const [sent] = alone.requests;
  if (sent === undefined) return { found: [], aloneError: alone.error };
  const found: Found[] = [];
  for (const way of WAYS.slice(1)) {
    const ours = await play(way, scene);
    const [other] = ours.requests;
    const errors = { aloneError: alone.error, oursError: ours.error };
    if (other === undefined)
      found.push({ way, kind: "error", path: "error", alone: alone.error, ours: ours.error, ...errors });
    else
      for (const difference of differencesOf(bodyOf(sent), bodyOf(other)))
        found.push({ way, kind: "body", ...difference, ...errors });
    for (const { rule, message, index } of validateHistory(messages, dialectOf(client.create())))
      found.push({ way, kind: "history", path: rule, alone: messages[index]?.getType(), ours: message });
  }
  return { found, aloneError: undefined };
}

/** The messages, or why the client cannot read one. */
async function messagesOf(
  entries: readonly Entry[],
  protocol: Protocol,
  client: Client,
): Promise<BaseMessage[] | string> {
  const messages: BaseMessage[] = [];
  for (const entry of entries) {
    if (!("response" in entry)) {
      messages.push(ToolMessage.isInstance(entry) ? withCallId(entry, messages) : entry);
      continue;
    }
    // An agent keeps one message of each id.
    const made = { ...entry.response, ...("id" in entry.response && { id: `made_up_${messages.length}` }) };
    const body = Buffer.from(JSON.stringify(made));
    const {
      requests,
      messages: read,
      error,
    } = await play("model", {
      create: client.create,
      toolNames: [],
      serverTools: [],
      isRead: false,
      messages: [human("Go ahead.")],
      answer: ({ asksForStream }) =>
        asksForStream && protocol === "chat"
          ? inChunks(made)
          : { status: 200, type: "application/json", body },
    });
    const [response] = read;
    if (response === undefined || !AIMessage.isInstance(response))
      return error ?? `No response after ${requests.length} requests.`;
    messages.push(response);
  }
  return messages;
}

/** Results of Google and Ollama have no ids: the first call of this name without a result is meant. */
function withCallId(result: ToolMessage, messages: readonly BaseMessage[]): ToolMessage {
  if (result.tool_call_id !== "") return result;
  const calls = messages.flatMap((message) =>
    AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [],
  );
  const answered = new Set(
    messages.map((message) => (ToolMessage.isInstance(message) ? message.tool_call_id : "")),
  );
  const call = calls.find(
    ({ id = "", name }) => (result.name === undefined || name === result.name) && !answered.has(id),
  );
  const { content, name = call?.name ?? "" } = result;
  return new ToolMessage({ content, name, tool_call_id: call?.id ?? "" });
}
