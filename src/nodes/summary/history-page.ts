/** Reads one page of a conversation without the messages before it. */

import type { BaseMessage } from "@langchain/core/messages";
import { unansweredCalls } from "../../history/calls/open-calls.js";
import { HIDDEN_ID_PREFIX, isPlaceholder, isResult } from "../../history/messages/result.js";
import { coverageOf } from "../../history/messages/summary.js";
import { normalizeHistory } from "../../history/reducer/normalize-history.js";
import type { MissingMessage } from "./archive.js";

export interface PageRange {
  readonly limit: number;
  readonly before: string | undefined;
}

/** The end of the results that can follow the message a page ends before: no batch is expected to have more. */
const MOST_RESULTS = 256;

/**
 * The last messages before a place, from the latest back. It reads the summaries on its way and the messages of the page.
 *
 * @returns Undefined if other messages decide what the page has: a result that came late, a message that is missing, or
 * an id that several summaries name.
 */
export async function readPage(
  messages: readonly BaseMessage[],
  read: (id: string) => Promise<BaseMessage | MissingMessage>,
  { limit, before }: PageRange,
): Promise<BaseMessage[] | undefined> {
  const known = new Map(messages.map((message) => [message.id ?? "", message]));
  const load = async (ids: readonly string[]): Promise<boolean> => {
    const found = await Promise.all(ids.filter((id) => !known.has(id)).map(read));
    for (const one of found) if ("content" in one) known.set(one.id ?? "", one);
    return found.every((one) => "content" in one);
  };
  /** The ids from the latest back. A summary is replaced by the list that it archived. Undefined: it cannot be told. */
  async function* walkBack(): AsyncGenerator<string | undefined> {
    const lists = [messages.map(({ id = "" }) => id)];
    const told = new Set<string>();
    for (let list = lists.at(-1); list !== undefined; list = lists.at(-1)) {
      const id = list.pop();
      if (id === undefined) {
        lists.pop();
        continue;
      }
      if (told.has(id) || (id.startsWith(HIDDEN_ID_PREFIX) && !(await load([id])))) yield undefined;
      told.add(id);
      const message = known.get(id);
      const coverage = message && coverageOf(message);
      if (coverage === undefined) yield id;
      else if (coverage.kind === "archive") lists.push([...(coverage.order ?? coverage.messages)]);
    }
  }

  const newer: string[] = [];
  const page: string[] = [];
  let isFound = before === undefined;
  for await (const id of walkBack()) {
    if (id === undefined) return undefined;
    if (isFound) {
      page.push(id);
      if (page.length < limit) continue;
      if (!(await load(page))) return undefined;
      const first = known.get(id);
      if (first === undefined || !isResult(first)) break;
    } else {
      newer.push(id);
      isFound = id === before;
    }
  }
  const following = newer.toReversed().slice(0, MOST_RESULTS);
  if (!isFound || !(await load([...page, ...following.slice(0, 1)]))) return undefined;
  // The page can end between the results of a group.
  const results: string[] = [];
  for (const id of following) {
    if (!(await load([id]))) return undefined;
    const message = known.get(id);
    if (message === undefined || !isResult(message)) break;
    results.push(id);
  }
  const list = [...page.toReversed(), ...results].flatMap((id) => known.get(id) ?? []);
  let isWhole = !list.some((message) => coverageOf(message) !== undefined || isPlaceholder(message));
  const whole = normalizeHistory(list, () => {
    isWhole = false;
  });
  const { dangling, pending } = unansweredCalls(whole);
  const isOpen = dangling.length > 0 || (before !== undefined && pending.length > 0);
  if (!isWhole || isOpen || whole.length !== list.length) return undefined;
  const end = results.length === 0 ? whole.length : whole.findIndex(({ id }) => id === before);
  return end < 0 ? undefined : whole.slice(Math.max(0, end - limit), end);
}
