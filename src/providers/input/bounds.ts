import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import type { InputLength } from "../../history/measure.js";
import { contentText } from "../../history/message.js";
import { isResult } from "../../history/result.js";
import { createSummaryNote, isUserMessage } from "../../history/summary.js";
import { countTextTokens } from "../../history/text-tokens.js";
import { keywordsOf, levelFor } from "../../history/transcript.js";
import type { Target } from "../rule.js";
import { type Conversation, projectMessages, projectOnce } from "./projection.js";
import { settleServerCallsOnce } from "./server-calls.js";
import { shortenResult, shortenText, shortenWork, sizeOf } from "./shorten.js";
import { isResultMedia } from "./steps/result-media.js";

/** The indexes of one message and its results. */
type Places = readonly number[];

/** The parts of an input that the steps treat differently. Each group is a message with its results. */
interface Parts {
  /** The groups of earlier turns, the oldest first. */
  readonly earlier: readonly Places[];
  /** The groups of the current turn before the last one. */
  readonly rounds: readonly Places[];
  /** The last group of the current turn. The model is to respond to it. */
  readonly open: Places;
  /** The user's latest message. */
  readonly request: Places;
  /** Summaries, and other notes that no user wrote. */
  readonly notes: Places;
  /** For each message the words of the request of its turn. A later request does not change them. */
  readonly keywords: readonly (readonly string[])[];
}

/** What happened to a message of the input. */
interface InputChange {
  /** The id of the message in the history. */
  readonly id: string | undefined;
  /** The message before that. */
  readonly message: BaseMessage;
  readonly kind: "shortened" | "left-out";
}

/** An input on its way to a bound. */
class InputDraft {
  readonly input: readonly BaseMessage[];
  /** For each message what is left of it; undefined if it is left out. */
  readonly kept: (BaseMessage | undefined)[];
  readonly parts: Parts;
  /** The place of the message in which the provider has compacted what was before. It is kept. -1: there is none. */
  readonly compacted: number;
  readonly #isCompacted: (message: BaseMessage | undefined) => boolean;
  /** The number of tokens in which the input is cut, so that its beginning is the same for several turns. */
  readonly block: number;
  /** The bound, in tokens. */
  readonly bound: number;
  /** How many tokens are too many. */
  excess: number;

  constructor(input: readonly BaseMessage[], { dialect }: Target, bound: number, excess: number) {
    this.input = input;
    this.kept = [...input];
    this.parts = partsOf(input);
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
    // What is shortened again is shortened from the original. Only calls and texts of a response add up.
    const base = isAIMessage(message) ? message : (this.input[place] ?? message);
    const shorter = (most: number) => shorten(base, most, this.parts.keywords[place] ?? []);
    let after = shorter(tokens);
    // A text that is joined of parts can be estimated a little longer than the parts. It must not cost another message.
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
    // A message with a shorter text can have lost the compaction: OpenAI's client sends it with the stored output only.
    if (place === this.compacted && !this.#isCompacted(after)) return;
    this.excess -= this.sizeAt(place);
    this.kept[place] = after;
    this.excess += this.sizeAt(place);
  }

  /** What is sent in the place of the messages that are left out: a note for each gap, by its first message. */
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
/** What is too long by at most this share is cut again. Other messages cannot be cut to the length. */
const CLOSE = 0.05;
const MOST_TIMES = 3;

/** Its text changes only with the gap, so a prompt cache holds as long as the gap does. */
export function gapNote(count: number): string {
  return `[${count} earlier ${count === 1 ? "message is" : "messages are"} left out here, because the conversation is too long. The user did not write this note.]`;
}

function partsOf(input: readonly BaseMessage[]): Parts {
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
    // Pictures of the results go with them.
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
 * The steps that bring an input under its bound. Each one leaves calls with their results.
 */

/** Contract: called while the draft is too long. Shortens it, by no more than it has to and its block. */
type BoundStep = (draft: InputDraft) => void;

/** At least this many tokens of each message stay readable. */
const LEAST_TOKENS = 40;
/** A request this short stays whole, even in a window that cannot be real. */
const LEAST_OF_REQUEST = 200;
/** What a shortened message of an earlier round has at most, as shares of the bound, one after the other. */
const LARGEST_SHARE = 1 / 8;
const SHARES = [LARGEST_SHARE, 1 / 32, 0];
/** The tokens of a note in place of messages, with the separators of a message. */
const NOTE_TOKENS = countTextTokens(gapNote(1_000_000)) + 4;

/** They bring an input under any bound that holds the system prompt, the request and the open group in short. */
const STEPS: readonly BoundStep[] = [
  (draft) => cutOldest(draft, draft.parts.earlier, shortenWork, SHARES, goalOf(draft)),
  // One long message would otherwise take all older ones with it.
  (draft) => cutOldest(draft, draft.parts.earlier, shortenText, [LARGEST_SHARE], 0),
  (draft) => leaveOutOldest(draft, draft.parts.earlier),
  (draft) => cutOldest(draft, draft.parts.rounds, shortenWork, SHARES, goalOf(draft)),
  (draft) => cutTogether(draft, draft.parts.open, shortenResult, draft.bound * LARGEST_SHARE),
  (draft) => leaveOutOldest(draft, draft.parts.rounds),
  (draft) => cutTogether(draft, draft.parts.open, shortenResult, LEAST_TOKENS),
  (draft) => cutTogether(draft, [...draft.parts.notes, ...draft.parts.open], shortenText, LEAST_TOKENS),
  // The model has yet to see what its latest calls did, so only the request stays longer than their arguments.
  (draft) => cutTogether(draft, draft.parts.open, shortenWork, LEAST_TOKENS),
  (draft) => cutTogether(draft, draft.parts.request, shortenText, LEAST_OF_REQUEST),
];

/** Contract: returns a copy with about this many tokens, or the message itself. */
type Shorten = (message: BaseMessage, tokens: number, keywords: readonly string[]) => BaseMessage;

/** Rounds the excess up to blocks, so that the same messages are cut for several turns. Returns what may stay. */
function goalOf({ excess, block }: InputDraft): number {
  return excess - Math.ceil(excess / block) * block;
}

/** Cuts the oldest first, and no more than needed, so that newer ones and a prompt cache stay as they are. */
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

/** Leaves out whole groups, and whole turns where that takes little more. */
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

/** Leaves out at least this many messages, the oldest first and in blocks, so that a prompt cache stays valid longer. */
function leaveOutNumber(draft: InputDraft, extra: number, most: number): void {
  const block = Math.max(Math.floor(most * SHARE_OF_BLOCK), 1);
  // The note in their place is a message too.
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

/** An input in the form in which it is sent. */
export interface FittedInput {
  readonly messages: readonly BaseMessage[];
  /** The tokens of the messages, by our estimate. */
  readonly size: number;
  /** The length of the whole request. */
  readonly length: InputLength;
  /** What is not sent as the history has it, to keep the bound. A message is named once. */
  readonly changes: readonly InputChange[];
  /** The ids of the messages since the last response of which the model gets pictures or files as a text only. */
  readonly describedIn: readonly string[];
}

export interface Bound {
  /** How many tokens the request may have, as the provider counts them. Undefined: any number. */
  readonly maxTokens: number | undefined;
  /** How many messages the request may have. Undefined: any number. */
  readonly maxMessages?: number | undefined;
  /** The tokens of the tools' schemas, by our estimate. */
  readonly toolTokens: number;
  /** The length of the request that is not shortened. */
  readonly length: InputLength;
}

/** The same bound computed from another length can differ by this. It must not move, or a prompt cache is lost. */
const ROUNDING = 1e-6;

/** Projecting can add short messages, so a shortened input may need a little more. */
const ATTEMPTS = 5;

/** Projects an input, and brings it under the bound. The input is not changed. */
export function fitInput(
  input: Conversation,
  target: Target,
  { maxTokens = Number.POSITIVE_INFINITY, maxMessages, toolTokens, length }: Bound,
): FittedInput {
  let projected = projectMessages(input, target);
  let size = projected.size();
  const describedIn = projected.describedIn().flatMap(({ id }) => id ?? []);
  const whole = size;
  // What is reported is the length of the form that was sent. An estimate is that of the form that will be.
  const tokens = length.isReported ? length.tokens : (size + toolTokens) * length.ratio;
  const fitted = (changes: readonly InputChange[]): FittedInput => ({
    messages: projected.sent(),
    size,
    length: { ...length, tokens: tokens - (whole - size) * length.ratio },
    changes,
    describedIn,
  });
  const surplus = () => (maxMessages === undefined ? 0 : projected.count() - maxMessages);
  if (tokens <= maxTokens && surplus() <= 0) return fitted([]);
  const bound = Math.max(Math.floor(size - (tokens - maxTokens) / length.ratio + ROUNDING), 1);
  // What is cut has the form in which it is sent. Neighbours are not merged yet, so each has its id.
  const formed = projected.formed();
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
    size = projected.size();
  }
  const changes = formed.flatMap((message, place): InputChange[] => {
    if (kept[place] === message) return [];
    return [{ id: message.id, message, kind: kept[place] === undefined ? "left-out" : "shortened" }];
  });
  return fitted(changes);
}

/** Steps do not change the places of system messages. */
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
