/** A conversation that outgrows a window: of every four turns, one has a long request, one long results, and one long arguments. */

import { z } from "zod";
import type { Reply, SentMessage } from "./strict-provider/start-strict-provider.js";
import { makeTool } from "./tools.js";

const SHORT = 100;
export const PLACES = ["Rome", "Oslo"] as const;
/** The words with which the library's request for a summary introduces the messages. */
const SUMMARY_REQUEST = "The conversation since:";
const REQUEST = /Turn (\d+):/g;

const textOf = (name: string, length: number) => `${name}: ${"some words ".repeat(length / 11)}`;
export const answerOf = (turn: number) => `Turn ${turn} is done.`;
const contentOf = (message: SentMessage | undefined) => JSON.stringify(message?.content ?? "");

/**
 * @param window How many tokens the window has. A long text is twice as long.
 * @param noteLength How many characters a long argument has. There are two in a turn.
 */
export function createWindowScript(window: number, noteLength = window * 2) {
  const long = window * 8;
  const requestOf = (turn: number) => textOf(`Turn ${turn}`, turn % 4 === 1 ? long : SHORT);
  const resultOf = (place: string, turn: number) =>
    textOf(`${place} in turn ${turn}`, turn % 4 === 2 ? long : SHORT);
  const noteOf = (turn: number) => textOf("Note", turn % 4 === 3 ? noteLength : SHORT);
  /** Calls two tools in each turn, and then says which turn it was. Any other request is for a summary. */
  const play = (messages: readonly SentMessage[]): Reply => {
    const isRequest = (message: SentMessage) =>
      message.role === "user" && contentOf(message).search(REQUEST) >= 0;
    if (messages.some((message) => contentOf(message).includes(SUMMARY_REQUEST)))
      return { text: "They looked at places." };
    const last = messages.findLastIndex(isRequest);
    const turn = Number([...contentOf(messages[last]).matchAll(REQUEST)].at(-1)?.[1]);
    if (messages.slice(last + 1).some(({ role }) => role === "tool")) return { text: answerOf(turn) };
    return { calls: PLACES.map((place) => ({ name: "look", args: { turn, place, note: noteOf(turn) } })) };
  };
  const look = makeTool(
    "look",
    ({ turn, place }) => resultOf(place, turn),
    z.object({ turn: z.number(), place: z.string(), note: z.string() }),
  );
  return { requestOf, resultOf, play, look };
}
