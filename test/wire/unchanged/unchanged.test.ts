/**
 * A sound history is sent as it is stored: the request of each client of LangChain.js is the same with and without the
 * library, but for the table of exceptions. One client: `npx vitest run test/wire/unchanged -t "ChatGroq "`.
 */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { leadRequests, runs, stopAtEnd, titled } from "../../support/test-tools.js";
import { CLIENTS, type Client } from "./clients.js";
import { EXCEPTIONS, type Exception, exceptionOf } from "./exceptions.js";
import { chained, type History, historiesOf } from "./histories.js";
import { measure, type Outcome } from "./measure.js";
import { startRecorder } from "./start-recorder.js";

const recorder = stopAtEnd(await startRecorder());
// No request may leave this machine.
leadRequests(recorder.fetch);

/** Histories that are no part of a longer thread. */
const ONLY_ALONE: ReadonlySet<string> = new Set([
  "a system message in front",
  // Before another history it stands in mid-thread, which is a history of its own.
  "a system message at the end",
  "a long thread",
  // Of a call that is open, the next response would have the result.
  "a web search that its provider still runs",
]);

/** The clients and the fixed histories that need each row. */
const used = new Map<Exception, Set<string>>();
const measured = new Map<string, Promise<Outcome>>();

/** The outcome of a fixed history, which is measured once. */
function outcomeOf(client: Client, history: History): Promise<Outcome> {
  const key = `${client.name} ${history.title}`;
  const outcome = measured.get(key) ?? measure(client, history, recorder);
  measured.set(key, outcome);
  return outcome;
}

/** The differences that no row covers, for any of these titles. */
function unexplained(client: Client, titles: readonly string[], outcome: Outcome): readonly object[] {
  if (outcome.kind !== "differs") return [];
  return outcome.differences.filter((difference) => {
    const rows = titles.flatMap((title) => exceptionOf(client.name, title, difference) ?? []);
    if (titles.length === 1) for (const row of rows) addTo(used, row, [client.name, ...titles]);
    return rows.length === 0;
  });
}

function addTo<Key>(sets: Map<Key, Set<string>>, key: Key, names: readonly string[]): void {
  sets.set(key, new Set([...(sets.get(key) ?? []), ...names]));
}

/** A provider gives each stored item an id of its own, and the histories have fixed ones. */
function haveOwnItems(pieces: readonly History[]): boolean {
  const ids = pieces.flatMap(({ messages }) => [
    ...new Set(JSON.stringify(messages()).match(/"(?:resp|msg|rs|fc|ctc|ws|srvtoolu)_\w+"/g)),
  ]);
  return new Set(ids).size === ids.length;
}

async function isSound(client: Client, history: History): Promise<boolean> {
  const outcome = await outcomeOf(client, history);
  if (outcome.kind !== "differs") return outcome.kind === "same";
  return outcome.differences.every((difference) => {
    const kind = exceptionOf(client.name, history.title, difference)?.kind;
    return kind !== undefined && kind !== "setting";
  });
}

describe.each(CLIENTS.map((client) => [client.name, client] as const))("%s sends", (_, client) => {
  const histories = historiesOf(client);

  it.each(titled(histories))("%s as it is stored.", async (title, history) => {
    expect(unexplained(client, [title], await outcomeOf(client, history))).toEqual([]);
  });

  it("random threads of sound pieces as they are stored.", async () => {
    const sound: History[] = [];
    for (const history of histories)
      if (!ONLY_ALONE.has(history.title) && (await isSound(client, history))) sound.push(history);
    const pieces = fc.array(fc.constantFrom(...sound), { minLength: 2, maxLength: 4 }).filter(haveOwnItems);
    await fc.assert(
      fc.asyncProperty(pieces, async (list) => {
        const history = chained(client, list);
        const titles = list.map(({ title }) => title);
        expect(unexplained(client, titles, await measure(client, history, recorder))).toEqual([]);
      }),
      runs(4),
    );
  });
});

describe("The table of exceptions", () => {
  it("names no client and no history without need.", () => {
    const surplus = EXCEPTIONS.filter((row) => {
      const names = used.get(row) ?? new Set();
      const { clients = [], histories = [] } = row;
      return names.size === 0 || [...clients, ...histories].some((name) => !names.has(name));
    });
    expect(surplus).toEqual([]);
  });

  it.each(titled(EXCEPTIONS.map((row) => ({ title: row.what, ...row }))))(
    "says why: %s",
    (_, { kind, source, why }) => {
      if (kind === "rule" || kind === "thread") expect(source).toBeDefined();
      expect(why).not.toBe("");
    },
  );
});
