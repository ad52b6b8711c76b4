import { expect } from "vitest";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { messagesIn } from "./make-messages.js";
import { outline } from "./plain-messages.js";
import { stateViolations } from "./strict-check.js";

/** A case in one line, as `messagesIn` reads it: `history | update => expected ids ! kinds of repairs`. */
export function expectCase(_title: string, line: string): void {
  const [given = "", outcome = ""] = line.split(" => ");
  const [history = "", update = ""] = given.split(" | ");
  const [expected, repairs] = outcome.split(" ! ");
  const reduced = reduceMessages(messagesIn(history), messagesIn(update));
  expect(outline(reduced.messages)).toBe(expected);
  expect(reduced.repairs.map(({ kind }) => kind)).toEqual(repairs?.split(" ") ?? []);
  expect(stateViolations(reduced.messages)).toEqual([]);
}
