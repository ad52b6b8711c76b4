import type { CommandIo } from "../command-io.js";

/** How often the line is written again. */
const INTERVAL_MS = 200;
const CLEAR = "\r\u001b[K";

export interface Progress {
  readonly count: () => Promise<void>;
  /** Contract: removes the line, and says how long it took. */
  readonly end: () => Promise<void>;
}

/** A line on the terminal that says how many threads were read. Nothing is written to a pipe or a file. */
export function startProgress({ errors, now }: Pick<CommandIo, "errors" | "now">, quiet: boolean): Progress {
  const start = now();
  let threads = 0;
  let shown = start;
  const line = (): string => {
    const seconds = (now() - start) / 1000;
    const rate = seconds > 0 ? Math.round(threads / seconds) : threads;
    return `${amount(threads, "thread")} · ${Math.round(seconds)} s · ${rate.toLocaleString("en-US")} threads/s`;
  };
  const isShown = errors.isTerminal && !quiet;
  return {
    count: async () => {
      threads += 1;
      if (!isShown || now() - shown < INTERVAL_MS) return;
      shown = now();
      await errors.write(`${CLEAR}${line()}`);
    },
    end: async () => {
      if (isShown) await errors.write(`${CLEAR}${line()}\n`);
    },
  };
}

/** A number with its noun: `1 thread`, `1,204 threads`. */
export function amount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
