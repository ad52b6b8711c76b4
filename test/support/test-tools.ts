/** How tests run: how many cases, their rows, expected warnings, servers, waits and aborts. */

import fc from "fast-check";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  it,
  type MockInstance,
  onTestFinished,
  vi,
} from "vitest";

const LAW_RUNS = Number(process.env["LAW_RUNS"] ?? 0.5);

/**
 * The number of cases of each law. Each run of the tests generates other cases, so half of them are enough by default.
 * `LAW_RUNS=20` tries twenty times the number, for a new law or new code.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * LAW_RUNS) };
}

/** The test of a law. `check` fails for values for which it does not hold. */
export function law<Values extends [unknown, ...unknown[]]>(
  title: string,
  count: number,
  values: { readonly [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  check: (...given: Values) => unknown,
): void {
  it(title, async () => {
    const property = fc.asyncProperty(fc.tuple<Values>(...values), async (given) => {
      await check(...given);
    });
    await fc.assert(property, runs(count));
  });
}

/**
 * Plays a run that dies at an operation, from the first one on until one lives: by default at every third operation,
 * from a random one on, and with `LAW_RUNS=1` at each.
 *
 * @param least The run has more operations than this.
 */
export async function dieAnywhere(
  least: number,
  play: (diesAt: number) => Promise<"died" | "lived">,
): Promise<void> {
  const step = LAW_RUNS < 1 ? 3 : 1;
  let diesAt = 1 + Math.floor(Math.random() * step);
  while ((await play(diesAt)) === "died") diesAt += step;
  expect(diesAt - step).toBeGreaterThan(least);
}

/** Rows for `it.each(titled([...]))("%s", (_title, row) => ...)`: vitest quotes and shortens a `$title`. */
export function titled<Row extends { readonly title: string }>(
  rows: readonly Row[],
): (readonly [string, Row])[] {
  return rows.map((row) => [row.title, row]);
}

/** The same of rows that are written by title, as a line each: `rowsOf({ "a title": [first, second] })`. */
export function rowsOf<Rest extends readonly unknown[]>(
  table: Readonly<Record<string, readonly [...Rest]>>,
): (readonly [title: string, ...Rest])[] {
  return Object.entries(table).map(([title, rest]) => [title, ...rest]);
}

/** LangChain's warning about a message whose calls are not in its list. */
export const OLD_PACKAGES = /^New LangChain packages are available/;

/** Allows the tests of a file or block to log this warning and no other. It is not printed. */
export function expectWarnings(...patterns: readonly RegExp[]): void {
  let warn: MockInstance<typeof console.warn>;
  let emit: MockInstance<typeof process.emitWarning>;
  beforeEach(() => {
    warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    emit = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  });
  afterEach(() => {
    const texts = [
      ...warn.mock.calls.map((words) => words.join(" ")),
      ...emit.mock.calls.map(([text]) => `${text}`),
    ];
    warn.mockRestore();
    emit.mockRestore();
    expect(texts.filter((text) => !patterns.some((pattern) => pattern.test(text)))).toEqual([]);
  });
}

/** The same for what a file logs between its tests. Other warnings are printed. */
export function passOverWarnings(pattern: RegExp): void {
  const { warn } = console;
  beforeAll(() => {
    vi.spyOn(console, "warn").mockImplementation((...words) => {
      if (!pattern.test(String(words[0]))) warn(...words);
    });
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });
}

/** A server that is stopped after the tests of its file, or of its `describe`. */
export function stopAtEnd<Server extends { stop(): Promise<unknown> }>(server: Server): Server {
  afterAll(() => server.stop());
  return server;
}

/** Every request of the file goes this way. Not every client takes a `fetch`. */
export function leadRequests(send: typeof fetch): void {
  const { fetch } = globalThis;
  beforeAll(() => {
    globalThis.fetch = send;
  });
  afterAll(() => {
    globalThis.fetch = fetch;
  });
}

const TIMES_FASTER = 1000;

/** Shortens the waits of clients before retries. Returns the original waits in milliseconds. */
export function hastenRetries(): readonly number[] {
  const waits: number[] = [];
  const setRealTimeout = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (run: () => void, delay = 0, ...values: []) => {
    // Timers of `fetch` stay as they are.
    const isRetry = new Error().stack?.split("\n")[2]?.includes("p-retry") === true;
    if (isRetry) waits.push(delay);
    return setRealTimeout(run, isRetry ? delay / TIMES_FASTER : delay, ...values);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return waits;
}

/**
 * Starts a run, and aborts it when it has come this far.
 *
 * @param hasBegun Contract: resolves when the run is to be aborted.
 */
export async function abortRun(
  start: (signal: AbortSignal) => Promise<unknown>,
  hasBegun: () => Promise<unknown>,
): Promise<void> {
  const controller = new AbortController();
  const run = start(controller.signal);
  await hasBegun();
  controller.abort();
  await expect(run).rejects.toThrow(/abort/i);
}
