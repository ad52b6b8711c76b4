/** Counts what was played, and prints it: a table, and the differences by cause. */

import type { Client } from "./clients.js";
import { type Explained, explanationOf } from "./explained.js";
import type { Found, Outcome } from "./found.js";
import { WAYS } from "./play.js";
import type { Exchange } from "./read-exchanges.js";

export type Part = "responses" | "requests" | "refusals";

interface Counts {
  pairs: number;
  requests: number;
  messages: number;
  bodies: number;
  same: number;
  explained: number;
  aloneErrors: number;
}

interface Group {
  readonly explained: Explained | undefined;
  readonly title: string;
  readonly example: string;
  count: number;
}

export class Report {
  readonly #json: boolean;
  readonly #counts = new Map<Part, Counts>();
  readonly #groups = new Map<string, Group>();
  readonly #aloneErrors = new Map<string, number>();
  readonly #skipped = new Map<string, number>();
  #unread = 0;

  constructor(json: boolean) {
    this.#json = json;
  }

  unread(file: string, error: string): void {
    this.#unread += 1;
    if (!this.#json) console.log(`Cannot be read: ${file}: ${oneLine(error).slice(0, 100)}`);
  }

  skipped({ url, body }: Exchange): void {
    const what =
      body.length === 0
        ? "no response"
        : url === undefined
          ? "no body of a chat model"
          : `${url.host}${url.pathname.replace(/[^/]{16,}/g, "*").slice(0, 40)}`;
    count(this.#skipped, what);
  }

  add(part: Part, exchange: Exchange, client: Client, { found, aloneError }: Outcome): void {
    const counts = this.#countsOf(part);
    if (aloneError !== undefined)
      count(this.#aloneErrors, `${client.name}: ${oneLine(aloneError).slice(0, 100)}`);
    for (const way of WAYS.slice(1)) {
      const differences = found.filter((difference) => difference.way === way);
      const faults = differences.filter(
        (difference) => explanationOf(client.name, difference, exchange) === undefined,
      );
      const has = (...kinds: Found["kind"][]) => faults.some(({ kind }) => kinds.includes(kind));
      counts.pairs += 1;
      if (aloneError !== undefined) counts.aloneErrors += 1;
      if (!has("requests", "error")) counts.requests += 1;
      if (!has("messages", "shown", "error")) counts.messages += 1;
      if (!has("body", "requests")) counts.bodies += 1;
      if (differences.length === 0) counts.same += 1;
      else if (faults.length === 0) counts.explained += 1;
    }
    for (const difference of found) this.#addDifference(part, exchange, client, difference);
  }

  /** Whether everything is explained. */
  print(): boolean {
    const faults = [...this.#groups.values()].filter(({ explained }) => explained === undefined);
    if (this.#counts.size === 0) console.log("Nothing was played.");
    if (this.#json || this.#counts.size === 0) return faults.length === 0 && this.#counts.size > 0;
    console.table(Object.fromEntries(this.#counts));
    printCounts("The client alone ends with an error:", this.#aloneErrors);
    printCounts("Not played:", this.#skipped, 12);
    if (this.#unread > 0) console.log(`\n${this.#unread} files cannot be read.`);
    const groups = [...this.#groups.values()].sort((one, other) => other.count - one.count);
    console.log("\nExplained:");
    const reasons = new Map<Explained, number>();
    for (const { explained, count } of groups)
      if (explained !== undefined) reasons.set(explained, (reasons.get(explained) ?? 0) + count);
    for (const [{ kind, what, why }, count] of reasons)
      console.log(`${String(count).padStart(6)}  ${kind}: ${what} ${why}`);
    console.log("\nNot explained:");
    for (const { title, example, count, explained } of groups)
      if (explained === undefined) console.log(`${String(count).padStart(6)}  ${title}\n${example}`);
    return faults.length === 0;
  }

  #addDifference(part: Part, exchange: Exchange, client: Client, found: Found): void {
    const { way, kind, path, alone, ours } = found;
    const explained = explanationOf(client.name, found, exchange);
    if (this.#json) {
      console.log(
        JSON.stringify({
          part,
          place: exchange.place,
          client: client.name,
          way,
          kind,
          path,
          alone: alone ?? null,
          ours: ours ?? null,
          aloneError: found.aloneError,
          oursError: found.oursError,
          words: found.words,
          explained: explained?.what,
        }),
      );
      return;
    }
    const title = `${part}, ${client.name}: ${kind} ${path}`;
    const known = this.#groups.get(`${explained?.what} ${title}`);
    if (known !== undefined) known.count += 1;
    else {
      const example = `          ${exchange.place} (${way})\n          alone: ${shortened(alone)}\n          ours:  ${shortened(ours)}`;
      this.#groups.set(`${explained?.what} ${title}`, { explained, title, example, count: 1 });
    }
  }

  #countsOf(part: Part): Counts {
    const known = this.#counts.get(part);
    if (known !== undefined) return known;
    const made = { pairs: 0, requests: 0, messages: 0, bodies: 0, same: 0, explained: 0, aloneErrors: 0 };
    this.#counts.set(part, made);
    return made;
  }
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

function printCounts(title: string, counts: ReadonlyMap<string, number>, most = 30): void {
  if (counts.size === 0) return;
  console.log(`\n${title}`);
  const rows = [...counts].sort(([, one], [, other]) => other - one);
  for (const [what, number] of rows.slice(0, most)) console.log(`${String(number).padStart(6)}  ${what}`);
  if (rows.length > most) console.log(`        and ${rows.length - most} other kinds`);
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ");

function shortened(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
