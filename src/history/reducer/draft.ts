/**
 * A history while it is being changed. The original array is not changed. `finish` returns the original array
 * if nothing changed, and a new one otherwise.
 *
 * Finding a message by id takes constant time. All arrays that descend from one another by appending share
 * one map from id to position. An entry of this append-only map counts only if the message at that position
 * has that id, so arrays that branch from a common ancestor share the map without seeing each other's
 * messages.
 */

import type { BaseMessage } from "@langchain/core/messages";

interface Positions {
  /** Shared by all descendants; an entry is never overwritten. */
  readonly shared: Map<string, number>;
  /**
   * Entries of this array that differ from the shared ones. Belongs to one array, and does not change once it
   * is set.
   */
  readonly moved: ReadonlyMap<string, number>;
  /** If the array has another length now, it was changed in place and is no longer known. */
  readonly length: number;
}

/** Arrays known to be in normal form, with the positions of their messages. */
const knownHistories = new WeakMap<readonly BaseMessage[], Positions>();

/** Above this number of moved entries, indexing the array afresh at its next change is cheaper. */
const MOVED_LIMIT = 256;

const NOTHING_MOVED: ReadonlyMap<string, number> = new Map();

export function isKnownHistory(messages: readonly BaseMessage[]): boolean {
  return knownHistories.get(messages)?.length === messages.length;
}

/** Records an array that is in normal form. `shared` holds the position of each of its ids. */
export function rememberHistory(messages: readonly BaseMessage[], shared: Map<string, number>): void {
  knownHistories.set(messages, { shared, moved: NOTHING_MOVED, length: messages.length });
}

export class Draft {
  /** A removed message leaves an undefined hole, so that no position changes. */
  #messages: (BaseMessage | undefined)[];
  readonly #original: readonly BaseMessage[];
  #shared: Map<string, number>;
  #moved: ReadonlyMap<string, number>;
  #ownMoved: Map<string, number> | undefined;
  #holes = 0;
  #changed = false;

  /** @param messages A known history: see {@link isKnownHistory}. */
  constructor(messages: readonly BaseMessage[]) {
    const positions = knownHistories.get(messages);
    this.#original = messages;
    this.#messages = messages as BaseMessage[];
    this.#shared = positions?.shared ?? new Map();
    this.#moved = positions?.moved ?? NOTHING_MOVED;
  }

  /** One more than the last position. Counts holes. */
  get length(): number {
    return this.#messages.length;
  }

  at(position: number): BaseMessage | undefined {
    return this.#messages[position];
  }

  /** The position of the message with this id; undefined if there is none. */
  find(id: string): number | undefined {
    const position = this.#moved.get(id) ?? this.#shared.get(id);
    return position !== undefined && this.#messages[position]?.id === id ? position : undefined;
  }

  /** The id of the message before a position, holes skipped; `""` at the beginning. */
  idBefore(position: number): string {
    for (let before = position - 1; before >= 0; before -= 1) {
      const message = this.#messages[before];
      if (message !== undefined) return message.id ?? "";
    }
    return "";
  }

  replace(position: number, message: BaseMessage): void {
    if (this.#messages[position] === message) return;
    this.#own()[position] = message;
    this.#place(message, position);
  }

  /** Inserts before the message at the position; at `length`, appends. */
  insert(position: number, message: BaseMessage): void {
    if (position === this.#messages.length && !this.#changed) {
      // `concat` copies once, at the right size. A copy that is pushed to would be copied again.
      this.#messages = this.#messages.concat([message]);
      this.#changed = true;
      this.#place(message, position);
      return;
    }
    const messages = this.#own();
    messages.splice(position, 0, message);
    for (let shifted = position; shifted < messages.length; shifted += 1) {
      const moved = messages[shifted];
      if (moved !== undefined) this.#place(moved, shifted);
    }
  }

  remove(position: number): void {
    this.#own()[position] = undefined;
    this.#holes += 1;
  }

  clear(): void {
    if (this.#messages.length === 0) return;
    this.#messages = [];
    this.#shared = new Map();
    this.#moved = NOTHING_MOVED;
    this.#ownMoved = undefined;
    this.#holes = 0;
    this.#changed = true;
  }

  /** The changed history, which is known from now on. Do not use the draft after this. */
  finish(): BaseMessage[] {
    if (!this.#changed) return this.#original as BaseMessage[];
    const messages = this.#messages;
    while (this.#holes > 0 && messages.at(-1) === undefined) {
      messages.pop();
      this.#holes -= 1;
    }
    if (this.#holes > 0 || this.#moved.size > MOVED_LIMIT) {
      const whole = messages.filter((message) => message !== undefined);
      rememberHistory(whole, indexPositions(whole));
      return whole;
    }
    const whole = messages as BaseMessage[];
    knownHistories.set(whole, { shared: this.#shared, moved: this.#moved, length: whole.length });
    return whole;
  }

  #own(): (BaseMessage | undefined)[] {
    if (!this.#changed) {
      this.#messages = this.#messages.slice();
      this.#changed = true;
    }
    return this.#messages;
  }

  #place(message: BaseMessage, position: number): void {
    const id = message.id ?? "";
    const known = this.#moved.get(id) ?? this.#shared.get(id);
    if (known === position) return;
    if (known === undefined) {
      this.#shared.set(id, position);
      return;
    }
    this.#ownMoved ??= new Map(this.#moved);
    this.#ownMoved.set(id, position);
    this.#moved = this.#ownMoved;
  }
}

function indexPositions(messages: readonly BaseMessage[]): Map<string, number> {
  return new Map(messages.map((message, position) => [message.id ?? "", position]));
}
