/** The steps that bring an input under its bound. Each one leaves calls with their results. */

import type { BaseMessage } from "@langchain/core/messages";
import { countTextTokens } from "../../../history/long-threads/count-tokens.js";
import { levelFor } from "../../../history/long-threads/level-for.js";
import { isAIMessage } from "../../../history/messages/call.js";
import { isUserMessage } from "../../../history/messages/summary.js";
import { gapNote, type InputDraft, type Places } from "./input-draft.js";
import { shortenText, shortenWork, sizeOf } from "./shorten-message.js";

/** Contract: called while the draft is too long. Shortens it, by no more than it has to and its block. */
export type BoundStep = (draft: InputDraft) => void;

/** At least this many tokens of each message stay readable. */
const LEAST_TOKENS = 40;
/** A request this short stays whole, even in a window that cannot be real. */
const LEAST_OF_REQUEST = 200;
/** What a shortened message of an earlier round has at most, as shares of the bound, one after the other. */
const LARGEST_SHARE = 1 / 8;
const SHARES = [LARGEST_SHARE, 1 / 32, 0];
/** The tokens of a note in place of messages, with the separators of a message. */
const NOTE_TOKENS = countTextTokens(gapNote(1_000_000)) + 4;

/** Shortens results and arguments. The messages that the user and the model wrote stay whole. */
export const SHORTEN_WORK: readonly BoundStep[] = [
  (draft) => cutOldest(draft, draft.parts.earlier, cutWork, SHARES, goalOf(draft)),
  (draft) => cutOldest(draft, draft.parts.rounds, cutWork, SHARES, goalOf(draft)),
  (draft) => cutTogether(draft, draft.parts.open, cutWork, LEAST_TOKENS),
];

/** Brings an input under any bound that holds the system prompt, the request and the open group in short. */
export const ALL_STEPS: readonly BoundStep[] = [
  (draft) => cutOldest(draft, draft.parts.earlier, cutWork, SHARES, goalOf(draft)),
  // One long message would otherwise take all older ones with it.
  (draft) => cutOldest(draft, draft.parts.earlier, cutText, [LARGEST_SHARE], 0),
  (draft) => leaveOutOldest(draft, draft.parts.earlier),
  (draft) => cutOldest(draft, draft.parts.rounds, cutWork, SHARES, goalOf(draft)),
  (draft) => cutTogether(draft, draft.parts.open, cutWork, draft.bound * LARGEST_SHARE),
  (draft) => leaveOutOldest(draft, draft.parts.rounds),
  (draft) => cutTogether(draft, draft.parts.open, cutWork, LEAST_TOKENS),
  (draft) => cutTogether(draft, [...draft.parts.notes, ...draft.parts.open], cutText, LEAST_TOKENS),
  (draft) => cutTogether(draft, draft.parts.open, cutWork, 1),
  (draft) => cutTogether(draft, draft.parts.request, cutText, LEAST_OF_REQUEST),
];

/** Cuts the message at a place to this many tokens. */
type Cut = (draft: InputDraft, place: number, tokens: number) => void;

function cutWork(draft: InputDraft, place: number, tokens: number): void {
  draft.change(place, (...forms) => shortenWork(baseOf(...forms), tokens, draft.keywordsAt(place)));
}

function cutText(draft: InputDraft, place: number, tokens: number): void {
  draft.change(place, (...forms) => shortenText(baseOf(...forms), tokens));
}

/** Rounds the excess up to blocks, so that the same messages are cut for several turns. Returns what may stay. */
function goalOf({ excess, block }: InputDraft): number {
  return excess - Math.ceil(excess / block) * block;
}

/** Cuts the oldest first, and no more than needed, so that newer ones and a prompt cache stay as they are. */
function cutOldest(
  draft: InputDraft,
  groups: readonly Places[],
  cut: Cut,
  shares: readonly number[],
  goal: number,
): void {
  for (const share of shares) {
    const tokens = Math.max(Math.floor(draft.bound * share), LEAST_TOKENS);
    for (const place of groups.flat()) {
      if (draft.excess <= goal) return;
      cut(draft, place, tokens);
    }
  }
}

/** Leaves out whole groups, and whole turns where that takes little more. */
function leaveOutOldest(draft: InputDraft, groups: readonly Places[]): void {
  if (groups.length === 0) return;
  draft.reserve(NOTE_TOKENS);
  const goal = goalOf(draft);
  for (const group of groups) {
    const [first = 0] = group;
    const head = draft.at(first);
    const startsTurn = head !== undefined && isUserMessage(head);
    if (draft.excess <= goal && (startsTurn || draft.excess <= goal - draft.block)) return;
    for (const place of group) draft.change(place, () => undefined);
  }
}

/** A message that is shortened again is shortened from the original. Only calls and texts of a response add up. */
function baseOf(message: BaseMessage, original: BaseMessage): BaseMessage {
  return isAIMessage(message) ? message : original;
}

/** Cuts the longest messages to one length. Those that cannot be cut to it leave their excess to the others. */
function cutTogether(draft: InputDraft, places: Places, cut: Cut, least: number): void {
  const sizeAt = (place: number): number => {
    const message = draft.at(place);
    return message === undefined ? 0 : sizeOf(message);
  };
  let left = places;
  while (left.length > 0 && draft.excess > 0) {
    const sizes = left.map(sizeAt);
    const room = sizes.reduce((sum, size) => sum + size, 0) - draft.excess;
    const level = Math.max(levelFor(sizes, room), Math.floor(least));
    for (const [index, place] of left.entries()) if ((sizes[index] ?? 0) > level) cut(draft, place, level);
    const cuttable = left.filter((place) => sizeAt(place) <= level);
    if (cuttable.length === left.length) return;
    left = cuttable;
  }
}
