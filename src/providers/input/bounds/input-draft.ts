import type { BaseMessage } from "@langchain/core/messages";
import { keywordsOf } from "../../../history/long-threads/excerpt.js";
import { contentText } from "../../../history/messages/content-text.js";
import { isResult } from "../../../history/messages/result.js";
import { createSummaryNote, isUserMessage } from "../../../history/messages/summary.js";
import { sizeOf } from "./shorten-message.js";

/** The indexes of one message and its results. */
export type Places = readonly number[];

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
  /** For each message the user's message that began its turn; -1 before the first one. */
  readonly requests: Places;
}

/** What happened to a message of the input. */
export interface InputChange {
  /** The id of the message in the history. */
  readonly id: string | undefined;
  readonly kind: "shortened" | "left-out";
  readonly bound: BoundName;
}

/** What is left of an input. */
export interface CutInput {
  /** For each message what is left of it; undefined if it is left out. */
  readonly kept: readonly (BaseMessage | undefined)[];
  /** What is sent in the place of a message that is left out. */
  readonly notes: ReadonlyMap<number, BaseMessage>;
}

/** `budget`: the number of tokens above which a history is summarised. `window`: the most that the model takes. */
export type BoundName = "budget" | "window";

/** An input on its way to a bound: for each message what is left of it, and how much is too much. */
export class InputDraft {
  readonly parts: Parts;
  /** The number of tokens in which the input is cut, so that its beginning is the same for several turns. */
  readonly block: number;
  /** The bound, in tokens. */
  readonly bound: number;
  readonly #input: readonly BaseMessage[];
  readonly #kept: (BaseMessage | undefined)[];
  readonly #keywords = new Map<number, readonly string[]>();
  #excess: number;

  /** @param excess How many tokens are too many. */
  constructor(input: readonly BaseMessage[], bound: number, excess: number) {
    this.#input = input;
    this.#kept = [...input];
    this.#excess = excess;
    this.bound = bound;
    this.block = Math.ceil(bound * SHARE_OF_BLOCK);
    this.parts = partsOf(input);
  }

  get excess(): number {
    return this.#excess;
  }

  at(place: number): BaseMessage | undefined {
    return this.#kept[place];
  }

  /** @param shorten Gets the message as it is now, and as it was. Undefined leaves it out. */
  change(
    place: number,
    shorten: (message: BaseMessage, original: BaseMessage) => BaseMessage | undefined,
  ): void {
    const [before, original] = [this.#kept[place], this.#input[place]];
    if (before === undefined || original === undefined) return;
    const after = shorten(before, original);
    this.#kept[place] = after;
    if (after !== before) this.#excess -= sizeOf(before) - (after === undefined ? 0 : sizeOf(after));
  }

  /** Adds tokens that a note will have. */
  reserve(tokens: number): void {
    this.#excess += tokens;
  }

  /** The words of the request of the turn that a message is in. A later request does not change them. */
  keywordsAt(place: number): readonly string[] {
    const request = this.parts.requests[place] ?? -1;
    const message = this.#input[request];
    const known =
      this.#keywords.get(request) ?? keywordsOf(message === undefined ? "" : contentText(message));
    this.#keywords.set(request, known);
    return known;
  }

  /** The messages that are left, with a note in place of each gap. */
  cut(): CutInput {
    const { earlier, rounds } = this.parts;
    const notes = new Map<number, BaseMessage>();
    for (const groups of [earlier, rounds]) {
      const gap = groups.flat().filter((place) => this.#kept[place] === undefined);
      const [first] = gap;
      if (first !== undefined) notes.set(first, createSummaryNote(gapNote(gap.length)));
    }
    return { kept: this.#kept, notes };
  }

  changes(bound: BoundName): InputChange[] {
    return this.#input.flatMap((message, place): InputChange[] => {
      const kept = this.#kept[place];
      if (kept === message) return [];
      return [{ id: message.id, kind: kept === undefined ? "left-out" : "shortened", bound }];
    });
  }
}

const SHARE_OF_BLOCK = 0.25;

/** Its text changes only with the gap, so a prompt cache holds as long as the gap does. */
export function gapNote(count: number): string {
  return `[${count} earlier ${count === 1 ? "message is" : "messages are"} left out here, because the conversation is too long. The user did not write this note.]`;
}

function partsOf(input: readonly BaseMessage[]): Parts {
  const request = input.findLastIndex(isUserMessage);
  const notes: number[] = [];
  const earlier: number[][] = [];
  const rounds: number[][] = [];
  const requests: number[] = [];
  let group: number[] = [];
  let asked = -1;
  for (const [place, message] of input.entries()) {
    if (isUserMessage(message)) asked = place;
    requests.push(asked);
    if (isResult(message)) {
      group.push(place);
      continue;
    }
    group = [place];
    if (message.type === "system" || place === request) continue;
    if (message.type === "human" && !isUserMessage(message)) notes.push(place);
    else (place < request ? earlier : rounds).push(group);
  }
  const open = rounds.pop() ?? [];
  return { earlier, rounds, open, request: request < 0 ? [] : [request], notes, requests };
}
