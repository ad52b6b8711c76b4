/**
 * Recorded responses. A turn gets the recorded response, and after its tools a short final one; then the user goes on. What
 * counts: how many requests there were, what the thread keeps, what a reader of the stream saw, and what the next requests
 * hold.
 */

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { differencesOf } from "../../test/wire/unchanged/compare.js";
import type { Client } from "./clients.js";
import type { Found, Outcome } from "./found.js";
import { human, type Play, play, type Scene, type SentRequest, WAYS, type Way } from "./play.js";
import {
  answeredModel,
  countMessages,
  eventsOf,
  finalAnswer,
  inChunks,
  isStream,
  type Protocol,
} from "./protocols.js";
import type { Exchange } from "./read-exchanges.js";
import { toolsOf } from "./tools.js";
import { textOf } from "./values.js";

export async function playResponse(exchange: Exchange, protocol: Protocol, client: Client): Promise<Outcome> {
  const isRead = isStream(exchange);
  const tools = toolsOf(protocol, exchange.request);
  const model = answeredModel(exchange) ?? "";
  const answer = answering(exchange, protocol, model);
  const scene = { ...tools, create: client.create, isRead, answer, messages: [human("Go ahead.")] };
  let probed: Scene = scene;
  let probe = await play("alone", scene);
  if (probe.error !== undefined && probe.requests.length === 0) {
    // Its client does not take a tool of the provider in the form of the protocol.
    probed = { ...scene, serverTools: [] };
    probe = await play("alone", probed);
  }
  const called = probe.messages.flatMap((message) =>
    AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [],
  );
  const toolNames = [...new Set([...tools.toolNames, ...called.map(({ name }) => name)])].filter(
    (name) => name !== "",
  );
  const serverTools = probed.serverTools.filter(({ name }) => !toolNames.includes(textOf(name)));
  const whole = { ...scene, toolNames, serverTools };
  const isSame =
    toolNames.length === tools.toolNames.length && serverTools.length === probed.serverTools.length;
  const alone = await playTwoTurns("alone", whole, protocol, model, isSame ? probe : undefined);
  const found: Found[] = [];
  for (const way of WAYS.slice(1)) {
    const ours = await playTwoTurns(way, whole, protocol, model);
    found.push(...comparePlays(alone, ours).map((difference) => ({ ...difference, way })));
  }
  return { found, aloneError: alone[0]?.error };
}

/** The recorded response, as long as the request is not longer than the first one. */
function answering(exchange: Exchange, protocol: Protocol, model: string): Scene["answer"] {
  let first: number | undefined;
  return ({ body, asksForStream }, place) => {
    const count = countMessages(protocol, body);
    if (place === 0) first = count;
    if (count <= (first ?? 0)) {
      if (protocol === "ollama" || asksForStream === isStream(exchange)) return exchange;
      if (protocol === "chat" && asksForStream) return inChunks(eventsOf(exchange)[0] ?? {});
    }
    // A recorded stream cannot be read as JSON.
    return finalAnswer(protocol, asksForStream, place, model);
  };
}

/** A second turn follows one without an error. */
async function playTwoTurns(
  way: Way,
  scene: Scene,
  protocol: Protocol,
  model: string,
  known?: Play,
): Promise<readonly Play[]> {
  const first = known ?? (await play(way, scene));
  if (first.error !== undefined) return [first];
  const messages = [...first.messages, human("Go on.")];
  const answer: Scene["answer"] = ({ asksForStream }, place) =>
    finalAnswer(protocol, asksForStream, 10 + place, model);
  return [first, await play(way, { ...scene, messages, answer })];
}

export function comparePlays(alone: readonly Play[], ours: readonly Play[]): Omit<Found, "way">[] {
  const found: Omit<Found, "way">[] = [];
  for (const [turn, one] of alone.entries()) {
    const other = ours[turn];
    if (other === undefined) continue;
    const errors = { aloneError: one.error, oursError: other.error };
    const note = (kind: Found["kind"], path: string, alone: unknown, ours: unknown) =>
      found.push({ kind, path: turn === 0 ? path : `next turn: ${path}`, alone, ours, ...errors });
    if (one.requests.length !== other.requests.length)
      note("requests", "count", one.requests.length, other.requests.length);
    if ((one.error === undefined) !== (other.error === undefined))
      note("error", "error", one.error, other.error);
    if (one.error !== undefined || other.error !== undefined) continue;
    for (const [place, request] of one.requests.entries()) {
      const sent = other.requests[place];
      if (sent === undefined) break;
      const where = place === 0 ? "" : "after tools: ";
      if (request.asksForStream !== sent.asksForStream)
        note("requests", `${where}in pieces`, request.asksForStream, sent.asksForStream);
      for (const { path, alone, ours } of differencesOf(bodyOf(request), bodyOf(sent)))
        note("body", where + path, alone, ours);
    }
    if (turn > 0) continue;
    if (JSON.stringify(one.shown) !== JSON.stringify(other.shown))
      note("shown", "text", one.shown, other.shown);
    for (const { path, alone, ours } of differencesOf(plainMessages(one), plainMessages(other), "messages"))
      if (!(path.endsWith(".id") && alone === undefined)) note("messages", path, alone, ours);
  }
  return found;
}

/** The body of a request, for a comparison. */
export const bodyOf = ({ body }: SentRequest) => withoutMadeIds(body);

/** The same with the ids that clients make numbered, because they are new in each run. */
function withoutMadeIds(value: unknown): unknown {
  const numbers = new Map<string, number>();
  const text = JSON.stringify(value).replaceAll(MADE_ID, (id) => {
    numbers.set(id, numbers.get(id) ?? numbers.size);
    return `made-${numbers.get(id)}`;
  });
  return JSON.parse(text);
}

const MADE_ID = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|(?<=lc-tool-call-)[0-9a-f]{32}/g;

const plainMessages = ({ messages }: Play) => withoutMadeIds(messages.map(plain)) as readonly object[];

const OWN_ID = /^(?:run-|lc_|[0-9a-f]{8}-[0-9a-f]{4}-)/;

/** What a program reads of a stored message, as JSON. Undefined fields and our marks are left out. */
function plain(message: BaseMessage): object {
  const { additional_kwargs, content, id = "" } = message;
  const kwargs = Object.entries(additional_kwargs).filter(([name]) => !name.startsWith("tether_"));
  const common = {
    type: message.getType(),
    content,
    ...(kwargs.length > 0 && { additional_kwargs: Object.fromEntries(kwargs) }),
  };
  if (ToolMessage.isInstance(message)) return { ...common, tool_call_id: message.tool_call_id };
  if (!AIMessage.isInstance(message)) return common;
  const calls = (message.tool_calls ?? []).map(({ id, name, args }) => ({ id, name, args }));
  const invalid = (message.invalid_tool_calls ?? []).map(({ id, name, args }) => ({ id, name, args }));
  return JSON.parse(
    JSON.stringify({
      ...common,
      // An id that the client makes is new in each run.
      ...(!OWN_ID.test(id) && { id }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(invalid.length > 0 && { invalid_tool_calls: invalid }),
      usage: message.usage_metadata,
    }),
  );
}
