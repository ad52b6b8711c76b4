/**
 * A script for a model's turn: some rounds of tool calls, then a final response. The user's text chooses the script.
 */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import type { Reply, SentMessage } from "./strict-provider/start-strict-provider.js";
import { makeTool } from "./tools.js";

/** The cities of each round. Each city has one call. */
export type Rounds = readonly (readonly string[])[];

export function chainWish(rounds: Rounds): string {
  return JSON.stringify({ rounds });
}

export const CALL_TEXT = "Let me look that up. ";
export const answerTo = (rounds: Rounds) => `The sky is clear over ${rounds.flat().join(" and ")} today.`;
export const reasoningOfRound = (cities: readonly string[]) => `I must look at ${cities.join(" and ")}.`;

interface Place {
  readonly rounds: Rounds;
  /** The cities of the next round; undefined if the final response comes next. */
  readonly cities?: readonly string[];
}

/** The position in the script, read from the request. */
export function readPlace(messages: readonly SentMessage[]): Place {
  const start = messages.findLastIndex(
    ({ role, content }) => role === "user" && toText(content).includes("{"),
  );
  const text = toText(messages[start]?.content);
  const { rounds }: { rounds: Rounds } = JSON.parse(text.slice(text.lastIndexOf('{"rounds"')));
  // In some protocols each call of a batch is a separate item, so results are counted, not messages with calls.
  let results = messages.slice(start).filter(({ role }) => role === "tool").length;
  for (const cities of rounds) {
    if (results === 0) return { rounds, cities };
    results -= cities.length;
  }
  return { rounds };
}

export function playChain(messages: readonly SentMessage[]): Reply {
  const { rounds, cities } = readPlace(messages);
  if (cities === undefined) return { text: answerTo(rounds) };
  return { text: CALL_TEXT, calls: cities.map((city) => ({ name: "look", args: { city } })) };
}

function toText(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((block) => String(block?.text ?? "")).join("\n") : "";
}

/** A tool that returns where it looked, and a list of all places where it did. */
export function createLook() {
  const looked: string[] = [];
  const look = makeTool(
    "look",
    async ({ city }) => {
      looked.push(city);
      return `${city}: clear`;
    },
    z.object({ city: z.string() }),
  );
  return { look, looked };
}

/** The cities of the calls of a thread, in order, and the cities of its results. */
export function lookedIn(messages: readonly BaseMessage[]): { calls: unknown[]; results: string[] } {
  return {
    calls: messages.flatMap(
      (message) => (message as AIMessage).tool_calls?.map(({ args }) => args["city"]) ?? [],
    ),
    results: messages.filter(({ type }) => type === "tool").map(({ text }) => text.replace(": clear", "")),
  };
}

/** The same for a model that shows its reasoning before its calls. */
export function playThinkingChain(messages: readonly SentMessage[]): Reply {
  const { cities } = readPlace(messages);
  return { ...playChain(messages), ...(cities && { reasoning: reasoningOfRound(cities) }) };
}
