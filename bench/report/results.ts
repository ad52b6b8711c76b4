/** What `results.json` holds. */

export interface CaseResult {
  /** Unique in its suite, and stable. */
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  /** Whether a higher number is the better one. */
  readonly isMoreBetter?: true;
  /** What a reader needs to know besides, such as how the contenders are configured. */
  readonly notes?: readonly string[];
  /** The contender whose number is 1. */
  readonly base: string;
  /** The number of each round, by the name of the contender. The numbers at one place belong to one round. */
  readonly rounds: Readonly<Record<string, readonly number[]>>;
}

export interface SuiteResult {
  readonly name: string;
  /** The day on which it was measured, as `2026-01-31`. */
  readonly date: string;
  /** The kind of machine: its processor, memory and Node. */
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Only there if a few rounds were measured to try the suite. */
  readonly isQuick?: true;
  readonly cases: readonly CaseResult[];
}

export interface Results {
  readonly suites: readonly SuiteResult[];
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  const lower = sorted.length % 2 === 1 ? upper : (sorted[middle - 1] ?? Number.NaN);
  return {
    median: (lower + upper) / 2,
    least: sorted[0] ?? Number.NaN,
    most: sorted.at(-1) ?? Number.NaN,
  };
}

/** Each number with the one of the same round. */
export function perRound(
  one: readonly number[],
  other: readonly number[],
  combine: (one: number, other: number) => number,
): readonly number[] {
  const rounds = Math.min(one.length, other.length);
  return Array.from({ length: rounds }, (_, round) => combine(one[round] ?? 0, other[round] ?? 0));
}

/** The rounds of a contender, or undefined if it was not measured. `path` is `SUITE/CASE`. */
export function roundsOf(
  { suites }: Results,
  path: string,
  contender: string,
): readonly number[] | undefined {
  const [suiteName, ...caseId] = path.split("/");
  const suite = suites.find(({ name }) => name === suiteName);
  return suite?.cases.find(({ id }) => id === caseId.join("/"))?.rounds[contender];
}

/** The day, the machine and the versions as one line; each differing one of them, if suites were run apart. */
export function describeRun({ suites }: Results): string {
  const distinct = (values: readonly string[]) => [...new Set(values)].toSorted().join("; ");
  const dates = [...new Set(suites.map(({ date }) => date))].toSorted();
  const days = dates.length > 1 ? `${dates[0]} to ${dates.at(-1)}` : (dates[0] ?? "no day");
  const versions = suites.map((suite) =>
    Object.entries(suite.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", "),
  );
  const quick = suites.some(({ isQuick }) => isQuick) ? ", with few rounds only" : "";
  return `${days}${quick}; ${distinct(suites.map(({ machine }) => machine))}; ${distinct(versions)}`;
}
