/**
 * Recorded refusals. A thread with a tool turn before it gets the refusal, for every request, and once more with a response
 * that is accepted after it. What counts: how many requests there were, and whether the turn ends as alone.
 */

import { isDeepStrictEqual } from "node:util";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { Client } from "./clients.js";
import type { Found, Outcome } from "./found.js";
import { human, play, type Scene, WAYS } from "./play.js";
import { finalAnswer, type Protocol } from "./protocols.js";
import type { Exchange } from "./read-exchanges.js";

export async function playRefusal(exchange: Exchange, protocol: Protocol, client: Client): Promise<Outcome> {
  const always: Scene["answer"] = () => exchange;
  const once: Scene["answer"] = ({ asksForStream }, place) =>
    place === 0 ? exchange : finalAnswer(protocol, asksForStream, place, "");
  const found: Found[] = [];
  for (const [title, answer] of [
    ["refused", always],
    ["refused once", once],
  ] as const) {
    const scene = {
      create: client.create,
      toolNames: ["look"],
      serverTools: [],
      isRead: false,
      answer,
      messages: thread(),
    };
    const alone = await play("alone", scene);
    for (const way of WAYS.slice(1)) {
      const ours = await play(way, scene);
      const errors = { aloneError: alone.error, oursError: ours.error, words: wordsOf(exchange) };
      if (alone.requests.length !== ours.requests.length)
        found.push({
          way,
          kind: "requests",
          path: `${title}: count`,
          alone: alone.requests.length,
          ours: ours.requests.length,
          ...errors,
        });
      const [first, second] = ours.requests;
      if (first !== undefined && second !== undefined && !isDeepStrictEqual(first.body, second.body))
        found.push({
          way,
          kind: "body",
          path: `${title}: form of the next request`,
          alone: first.body,
          ours: second.body,
          ...errors,
        });
      if ((alone.error === undefined) !== (ours.error === undefined))
        found.push({ way, kind: "error", path: title, alone: alone.error, ours: ours.error, ...errors });
    }
  }
  return { found, aloneError: undefined };
}

/** The status and the body of a refusal, which tell what it is about. */
export const wordsOf = ({ status, body }: Exchange) => `${status} ${body.toString("utf8", 0, 2000)}`;

/** A tool turn, and a new message of the user. */
function thread(): readonly BaseMessage[] {
  const id = "call_aBcDeFgHi";
  return [
    human("What is in the house?"),
    new AIMessage({
      content: "I look.",
      tool_calls: [{ id, name: "look", args: { room: "kitchen" }, type: "tool_call" }],
    }),
    new ToolMessage({ tool_call_id: id, name: "look", content: "A table and two chairs." }),
    new AIMessage("A table and two chairs."),
    human("And in the garden?"),
  ];
}
