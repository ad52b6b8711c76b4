/** Puts the messages that summaries cover back into their order. Summaries can be forged, so they can form a cycle. */

import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../history/messages/call.js";
import { copyMessage } from "../../history/messages/copy-message.js";
import { MARKS } from "../../history/messages/marks.js";
import { HIDDEN_ID_PREFIX } from "../../history/messages/result.js";
import { type Coverage, coverageOf } from "../../history/messages/summary.js";
import type { MissingMessage } from "./archive.js";

type Known = ReadonlyMap<string, BaseMessage>;
type Missing = ReadonlyMap<string, MissingMessage>;

/**
 * The messages of the state, and those that their summaries archived, by id. A message of the state wins over an
 * archived one.
 */
export async function loadArchived(
  messages: readonly BaseMessage[],
  read: (id: string) => Promise<BaseMessage | MissingMessage>,
): Promise<{ readonly known: Known; readonly missing: Missing }> {
  const known = new Map(messages.map((message) => [message.id ?? "", message]));
  const missing = new Map<string, MissingMessage>();
  let unread = messages;
  while (unread.length > 0) {
    const named = new Set(unread.flatMap((message) => archivedBy(message)?.messages ?? []));
    const wanted = [...named].filter((id) => !known.has(id) && !missing.has(id));
    const found = await Promise.all(wanted.map(read));
    unread = found.filter((one) => "content" in one);
    for (const message of unread) known.set(message.id ?? "", message);
    for (const one of found) if ("reason" in one) missing.set(one.id, one);
  }
  return { known, missing };
}

/** The ids of all messages that the summaries of the history have archived, and those that they have archived. */
export async function archivedIds(
  history: readonly BaseMessage[],
  read: (id: string) => Promise<BaseMessage | MissingMessage>,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  let unread = history;
  while (unread.length > 0) {
    const named = unread
      .flatMap((message) => archivedBy(message)?.messages ?? [])
      .filter((id) => !ids.has(id));
    for (const id of named) ids.add(id);
    const found = await Promise.all(named.filter((id) => id.startsWith(HIDDEN_ID_PREFIX)).map(read));
    unread = found.filter((one) => "content" in one);
  }
  return ids;
}

/** The owner of a message that belongs to the thread's own list, not to a summary's. */
const THREAD = "";

/**
 * Decides for each id which list its message belongs to: that of a summary, named by the summary's id, or that of the
 * thread. If several lists name a message, it belongs to the innermost one, which is that of the earliest summary. No
 * list owns a summary that it is inside of.
 */
export function claimPlaces(ids: readonly string[], known: Known): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  const open = new Set<string>();
  const claimed = new Set<string>();
  const waiting: { readonly owner: string; readonly isLeft: boolean }[] = [{ owner: THREAD, isLeft: false }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { owner, isLeft } = next;
    if (isLeft) open.delete(owner);
    if (isLeft || claimed.has(owner)) continue;
    claimed.add(owner);
    open.add(owner);
    const list = owner === THREAD ? ids : orderOf(known.get(owner));
    for (const id of list) if (!open.has(id)) places.set(id, owner);
    waiting.push({ owner, isLeft: true });
    for (const id of list.toReversed())
      if (orderOf(known.get(id)).length > 0) waiting.push({ owner: id, isLeft: false });
  }
  return places;
}

interface Places {
  readonly known: Known;
  readonly missing: Missing;
  readonly places: ReadonlyMap<string, string>;
}

/**
 * The messages of the list, in order. Each summary is replaced by the messages of its own list. If some of those are
 * missing, the summary stays, and names only them.
 */
export function inOrder(ids: readonly string[], { known, missing, places }: Places): BaseMessage[] {
  const messages: BaseMessage[] = [];
  const told = new Set<string>();
  const lists = [{ owner: THREAD, left: ids.toReversed() }];
  for (let list = lists.at(-1); list !== undefined; list = lists.at(-1)) {
    const id = list.left.pop();
    if (id === undefined) {
      lists.pop();
      continue;
    }
    const message = known.get(id);
    if (message === undefined || places.get(id) !== list.owner || told.has(id)) continue;
    told.add(id);
    const coverage = coverageOf(message);
    if (coverage === undefined) {
      messages.push(message);
      continue;
    }
    const rest = coverage.kind === "archive" ? coverageOfMissing(coverage, known, missing) : undefined;
    if (rest !== undefined) messages.push(withCoverage(message, rest));
    lists.push({ owner: id, left: orderOf(message).toReversed() });
  }
  return messages;
}

type Archived = Extract<Coverage, { readonly kind: "archive" }>;

function archivedBy(message: BaseMessage): Archived | undefined {
  const coverage = coverageOf(message);
  return coverage?.kind === "archive" ? coverage : undefined;
}

/** The ids that an archiving summary lists. Messages that a summary keeps in the state are in the list next to it. */
function orderOf(message: BaseMessage | undefined): readonly string[] {
  const coverage = message && archivedBy(message);
  return coverage?.order ?? coverage?.messages ?? [];
}

function coverageOfMissing(coverage: Archived, known: Known, missing: Missing): Archived | undefined {
  const messages = coverage.messages.filter((id) => missing.has(id));
  if (messages.length === 0) return undefined;
  const found = coverage.messages.flatMap((id) => known.get(id) ?? []);
  const answerable = new Set(found.flatMap(callsOf).map(({ id }) => id));
  const isLost = (id: string) => !answerable.has(id);
  const unanswered = coverage.unanswered?.filter(isLost);
  const calls = coverage.calls.filter(isLost);
  return { kind: "archive", asOf: coverage.asOf, messages, order: messages, calls, unanswered };
}

function withCoverage(summary: BaseMessage, coverage: Archived): BaseMessage {
  return copyMessage(summary, {
    additional_kwargs: { ...summary.additional_kwargs, [MARKS.coverage]: coverage },
  });
}
