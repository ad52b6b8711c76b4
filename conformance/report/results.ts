/** What `results.json` holds. */

export interface FaultResult {
  readonly id: string;
  readonly reason: string;
  /** Where the case was reported. */
  readonly source?: string;
}

export interface SuiteResult {
  /** The day on which it was scored, as `2026-01-31`. */
  readonly date: string;
  /** How many cases apply to the implementation. */
  readonly cases: number;
  readonly passed: number;
  readonly faults: readonly FaultResult[];
}

export interface ImplementationResult {
  readonly name: string;
  readonly title: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Null: no case of the suite applies. */
  readonly suites: Readonly<Record<string, SuiteResult | null>>;
}

export interface Results {
  readonly implementations: readonly ImplementationResult[];
}

/** The columns: the names of the suites, and their titles. */
export const COLUMNS = {
  sound: "sound requests unchanged",
  histories: "histories",
  cuts: "cuts",
  updates: "updates",
  streams: "streams",
  refusals: "refusals",
  summaries: "summaries",
  windows: "windows",
  server: "cancelled runs",
  kills: "kills",
  aborts: "messages after cancel",
  resumes: "resumed runs",
  repeats: "jobs sent again",
  keys: "other keys",
  nested: "nested agents",
} as const satisfies Readonly<Record<string, string>>;
export type SuiteName = keyof typeof COLUMNS;

export function daysOf({ implementations }: Results): string {
  const dates = implementations
    .flatMap(({ suites }) => Object.values(suites).flatMap((suite) => suite?.date ?? []))
    .toSorted();
  const [first = "", last = first] = [dates[0], dates.at(-1)];
  return first === last ? `Measured on ${first}.` : `Measured from ${first} to ${last}.`;
}

/** The versions of the peers, as a sentence. */
export function versionsOf({ implementations }: Results): string {
  const versions = Object.assign({}, ...implementations.map((each) => each.versions));
  const peers = Object.entries(versions).filter(([name]) => name !== "langgraph-tether");
  return `Versions: ${peers.map(([name, version]) => `${name} ${version}`).join(", ")}.`;
}
