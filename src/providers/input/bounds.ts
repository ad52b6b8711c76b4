/** Makes a model input fit into a limit of tokens. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import type { InputLength } from "../../history/measure.js";
import { contentText } from "../../history/message.js";
import { isResult } from "../../history/result.js";
import { createSummaryNote, isUserMessage } from "../../history/summary.js";
import { countTextTokens } from "../../history/text-tokens.js";
import { keywordsOf, levelFor } from "../../history/transcript.js";
import type { Target } from "../contract/author.js";
import { type Conversation, projectMessages, projectOnce } from "./projection.js";
import { isResultMedia } from "./result-media.js";
import { settleServerCallsOnce } from "./server-calls.js";
import { shortenResult, shortenText, shortenWork, sizeOf } from "./shorten.js";

type Places = readonly number[];

/** The parts of an input that the steps treat differently. Each group is a message with its results. */
interface Parts {
  /** The groups of earlier turns, oldest first. */
  readonly earlier: readonly Places[];
  /** The groups of the current turn before the last one. */
  readonly rounds: readonly Places[];
  /** The last group of the current turn. The model must respond to it. */
  readonly open: Places;
  /** The user's latest message. */
  readonly request: Places;
  /** Summaries, and other notes that no user wrote. */
  readonly notes: Places;
  /** For each message, the words of its turn's request. A later request does not change them. */
  readonly keywords: readonly (readonly string[])[];
}

/** What happened to a message of the input. */
interface InputChange {
  /** Its id in the history. */
  readonly id: string | undefined;
  /** The message before the change. */
  readonly message: BaseMessage;
  readonly kind: "shortened" | "left-out";
}

/** An input on its way to a bound. */
class InputDraft {
  readonly input: readonly BaseMessage[];
  /** What is left of each message; undefined if it is left out. */
  readonly kept: (BaseMessage | undefined)[];
  readonly parts: Parts;
  /** The place of the message in which the provider compacted what was before. It stays. -1: there is none. */
  readonly compacted: number;
  readonly #isCompacted: (message: BaseMessage | undefined) => boolean;
  /** The step in tokens by which the input is cut, so that its beginning stays the same for several turns. */
  readonly block: number;
  /** The bound, in tokens. */
  readonly bound: number;
  /** How many tokens are too many. */
  excess: number;

  constructor(input: readonly BaseMessage[], { dialect }: Target, bound: number, excess: number) {
    this.input = input;
    this.kept = [...input];
    this.parts = partsOfInput(input);
    this.#isCompacted = (message) =>
      message !== undefined && isAIMessage(message) && dialect.isCompacted?.(message) === true;
    this.compacted = input.findLastIndex(this.#isCompacted);
    this.block = Math.ceil(bound * SHARE_OF_BLOCK);
    this.bound = bound;
    this.excess = excess;
  }

  sizeAt(place: number): number {
    const message = this.kept[place];
    return message === undefined ? 0 : sizeOf(message);
  }

  cut(place: number, shorten: Shorten, tokens: number): void {
    const message = this.kept[place];
    if (message === undefined) return;
    // What is shortened again is shortened from the original. Only a response's calls and texts add up.
    const base = isAIMessage(message) ? message : (this.input[place] ?? message);
    const shorter = (most: number) => shorten(base, most, this.parts.keywords[place] ?? []);
    let after = shorter(tokens);
    // A joined text's estimate can be a little longer than its parts'. That must not cost another message.
    for (let room = tokens, times = 0; times < MOST_TIMES; times += 1) {
      const over = sizeOf(after) - tokens;
      if (over <= 0 || over > tokens * CLOSE) break;
      room -= over;
      after = shorter(room);
    }
    this.replace(place, after);
  }

  /** @param after Undefined leaves the message out. */
  replace(place: number, after: BaseMessage | undefined): void {
    if (after === this.kept[place]) return;
    // A message with a shorter text can lose the compaction: OpenAI's client sends it only with the stored output.
    if (place === this.compacted && !this.#isCompacted(after)) return;
    this.excess -= this.sizeAt(place);
    this.kept[place] = after;
    this.excess += this.sizeAt(place);
  }

  /** What replaces left-out messages: a note for each gap, by its first message. */
  notes(): ReadonlyMap<number, BaseMessage> {
    const notes = new Map<number, BaseMessage>();
    for (const groups of [this.parts.earlier, this.parts.rounds]) {
      const gap = groups.flat().filter((place) => this.kept[place] === undefined);
      const [first] = gap;
      if (first !== undefined) notes.set(first, createSummaryNote(gapNote(gap.length)));
    }
    return notes;
  }
}

const SHARE_OF_BLOCK = 0.25;
/** A message that is too long by at most this share is cut again. Others cannot be cut to the length. */
const CLOSE = 0.05;
const MOST_TIMES = 3;

/** Its text changes only with the gap, so a prompt cache holds as long as the gap stays. */
export function gapNote(count: number): string {
  return `[${count} earlier ${count === 1 ? "message is" : "messages are"} left out here, because the conversation is too long. The user did not write this note.]`;
}

function partsOfInput(input: readonly BaseMessage[]): Parts {
  const request = input.findLastIndex(isUserMessage);
  const notes: number[] = [];
  const earlier: number[][] = [];
  const rounds: number[][] = [];
  const keywords: (readonly string[])[] = [];
  let group: number[] = [];
  let asked: readonly string[] = [];
  for (const [place, message] of input.entries()) {
    if (isUserMessage(message)) asked = keywordsOf(contentText(message));
    keywords.push(asked);
    // The results' pictures go with them.
    if (isResult(message) || isResultMedia(message)) {
      group.push(place);
      continue;
    }
    group = [place];
    if (message.type === "system" || place === request) continue;
    if (message.type === "human" && !isUserMessage(message)) notes.push(place);
    else (place < request ? earlier : rounds).push(group);
  }
  const open = rounds.pop() ?? [];
  return { earlier, rounds, open, request: request < 0 ? [] : [request], notes, keywords };
}

/*
 * The steps that bring an input under its bound. Each keeps calls with their results.
 */

/** Contract: called while the draft is too long. Shortens it by no more than needed, rounded up to a block. */
type BoundStep = (draft: InputDraft) => void;

const LEAST_TOKENS = 40;
/** A request this short stays whole, even in a window that cannot be real. */
const LEAST_OF_REQUEST = 200;
/** The most that a shortened message of an earlier round keeps, as shares of the bound, in order. */
const LARGEST_SHARE = 1 / 8;
const SHARES = [LARGEST_SHARE, 1 / 32, 0];
/** The tokens of a note that replaces messages, with a message's separators. */
const NOTE_TOKENS = countTextTokens(gapNote(1_000_000)) + 4;

/** They bring an input under any bound that holds the system prompt, the request and the shortened open group. */
const STEPS: readonly BoundStep[] = [
  (draft) => cutOldest(draft, draft.parts.earlier, shortenWork, SHARES, goalOf(draft)),
  // Otherwise one long message would take all older ones with it.
  (draft) => cutOldest(draft, draft.parts.earlier, shortenText, [LARGEST_SHARE], 0),
  (draft) => leaveOutOldest(draft, draft.parts.earlier),
  (draft) => cutOldest(draft, draft.parts.rounds, shortenWork, SHARES, goalOf(draft)),
  (draft) => cutTogether(draft, draft.parts.open, shortenResult, draft.bound * LARGEST_SHARE),
  (draft) => leaveOutOldest(draft, draft.parts.rounds),
  (draft) => cutTogether(draft, draft.parts.open, shortenResult, LEAST_TOKENS),
  (draft) => cutTogether(draft, [...draft.parts.notes, ...draft.parts.open], shortenText, LEAST_TOKENS),
  // The model has not yet seen what its latest calls did. So only the request stays longer than their arguments.
  (draft) => cutTogether(draft, draft.parts.open, shortenWork, LEAST_TOKENS),
  (draft) => cutTogether(draft, draft.parts.request, shortenText, LEAST_OF_REQUEST),
];

/** Contract: returns a copy with about this many tokens, or the message itself. */
type Shorten = (message: BaseMessage, tokens: number, keywords: readonly string[]) => BaseMessage;

/** Rounds the excess up to blocks, so that the same messages are cut for several turns. Returns what may stay. */
function goalOf({ excess, block }: InputDraft): number {
  return excess - Math.ceil(excess / block) * block;
}

/** Cuts the oldest first, and no more than needed, so that newer ones and a prompt cache stay. */
function cutOldest(
  draft: InputDraft,
  groups: readonly Places[],
  shorten: Shorten,
  shares: readonly number[],
  goal: number,
): void {
  for (const share of shares) {
    const tokens = Math.max(Math.floor(draft.bound * share), LEAST_TOKENS);
    for (const place of groups.flat()) {
      if (draft.excess <= goal) return;
      draft.cut(place, shorten, tokens);
    }
  }
}

/** Leaves out whole groups, and whole turns if that takes little more. */
function leaveOutOldest(draft: InputDraft, groups: readonly Places[]): void {
  if (groups.length === 0) return;
  draft.excess += NOTE_TOKENS;
  const goal = goalOf(draft);
  for (const group of groups) {
    const [first = 0] = group;
    if (first === draft.compacted) continue;
    const head = draft.kept[first];
    const startsTurn = head !== undefined && isUserMessage(head);
    if (draft.excess <= goal && (startsTurn || draft.excess <= goal - draft.block)) return;
    for (const place of group) draft.replace(place, undefined);
  }
}

/** Leaves out at least this many messages, oldest first and in blocks, so that a prompt cache stays valid longer. */
function leaveOutNumber(draft: InputDraft, extra: number, most: number): void {
  const block = Math.max(Math.floor(most * SHARE_OF_BLOCK), 1);
  // The note in their place is also a message.
  let left = Math.ceil((extra + 1) / block) * block;
  for (const group of [...draft.parts.earlier, ...draft.parts.rounds]) {
    if (left <= 0) return;
    if (group.includes(draft.compacted)) continue;
    for (const place of group) draft.replace(place, undefined);
    left -= group.length;
  }
}

/** Cuts the longest messages to one length. Those that cannot be cut to it leave their excess to the others. */
function cutTogether(draft: InputDraft, places: Places, shorten: Shorten, least: number): void {
  let left = places;
  while (left.length > 0 && draft.excess > 0) {
    const sizes = left.map((place) => draft.sizeAt(place));
    const room = sizes.reduce((sum, size) => sum + size, 0) - draft.excess;
    const level = Math.max(levelFor(sizes, room), Math.floor(least));
    for (const [index, place] of left.entries())
      if ((sizes[index] ?? 0) > level) draft.cut(place, shorten, level);
    const cuttable = left.filter((place) => draft.sizeAt(place) <= level);
    if (cuttable.length === left.length) return;
    left = cuttable;
  }
}

/** An input as it is sent. */
export interface FittedInput {
  readonly messages: readonly BaseMessage[];
  /** The tokens of the messages, by our estimate. */
  readonly size: number;
  /** The length of the whole request. */
  readonly length: InputLength;
  /** What the bound changes from the history. Each message is named once. */
  readonly changes: readonly InputChange[];
  /** The ids of messages since the last response whose pictures or files the model gets only as text. */
  readonly describedIn: readonly string[];
}

export interface Bound {
  /** How many tokens the request may have, as the provider counts them. Undefined: any number. */
  readonly maxTokens: number | undefined;
  /** The most messages that the request may have. Undefined: any number. */
  readonly maxMessages?: number | undefined;
  /** The tokens of the tools' schemas, by our estimate. */
  readonly toolTokens: number;
  /** The length of the unshortened request. */
  readonly length: InputLength;
}

/**
 * The same bound can differ by this much if it is computed from another length. It must not move, or a prompt cache is
 * lost.
 */
const ROUNDING = 1e-6;

/** Projecting can add short messages, so a shortened input may still be slightly too long. */
const ATTEMPTS = 5;

/** Projects an input and brings it under the bound. The input does not change. */
export function fitInput(
  input: Conversation,
  target: Target,
  { maxTokens = Number.POSITIVE_INFINITY, maxMessages, toolTokens, length }: Bound,
): FittedInput {
  let projected = projectMessages(input, target);
  let { size } = projected;
  const describedIn = projected.describedIn.flatMap(({ id }) => id ?? []);
  const whole = size;
  // A report is the length of the form that was sent. An estimate is that of the form that will be sent.
  const tokens = length.isReported ? length.tokens : (size + toolTokens) * length.ratio;
  const fitted = (changes: readonly InputChange[]): FittedInput => ({
    messages: projected.messages,
    size,
    length: { ...length, tokens: tokens - (whole - size) * length.ratio },
    changes,
    describedIn,
  });
  const surplus = () => (maxMessages === undefined ? 0 : projected.messages.length - maxMessages);
  if (tokens <= maxTokens && surplus() <= 0) return fitted([]);
  const bound = Math.max(Math.floor(size - (tokens - maxTokens) / length.ratio + ROUNDING), 1);
  // What is cut is in the form in which it is sent. Neighbours are not merged yet, so each has its id.
  const { formed } = projected;
  let kept: readonly (BaseMessage | undefined)[] = formed;
  const isTooLong = () => size > bound || surplus() > 0;
  for (let attempt = 0, excess = 0, extra = 0; attempt < ATTEMPTS && isTooLong(); attempt += 1) {
    excess += Math.max(size - bound, 0);
    extra += Math.max(surplus(), 0);
    const draft = new InputDraft(formed, target, bound, excess);
    if (extra > 0) leaveOutNumber(draft, extra, maxMessages ?? 0);
    for (const step of STEPS) if (draft.excess > 0) step(draft);
    kept = draft.kept;
    projected = projectDraft(draft, target, input.mostMarks);
    ({ size } = projected);
  }
  const changes = formed.flatMap((message, place): InputChange[] => {
    if (kept[place] === message) return [];
    return [{ id: message.id, message, kind: kept[place] === undefined ? "left-out" : "shortened" }];
  });
  return fitted(changes);
}

/** Steps do not change the system messages' places. */
function projectDraft(draft: InputDraft, target: Target, mostMarks: number | undefined) {
  const { kept } = draft;
  const notes = draft.notes();
  const messages = kept.flatMap((message, place) => message ?? notes.get(place) ?? []);
  const talk = messages.findIndex(({ type }) => type !== "system");
  const count = talk < 0 ? messages.length : talk;
  const input = {
    system: messages.slice(0, count),
    messages: settleServerCallsOnce(messages.slice(count), target),
    mostMarks,
  };
  return projectOnce(input, target);
}
