/** What `results.json` holds. */

export interface FaultResult {
  readonly id: string;
  readonly reason: string;
  /** Where the case was reported. */
  readonly source?: string;
}

export interface SuiteResult {
  /** How many cases apply to the implementation. */
  readonly cases: number;
  readonly passed: number;
  readonly faults: readonly FaultResult[];
}

export interface ImplementationResult {
  readonly name: string;
  readonly title: string;
  /** The day on which it was scored, as `2026-01-31`. */
  readonly date: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Null: no case of the suite applies. */
  readonly suites: Readonly<Record<string, SuiteResult | null>>;
}

export interface Results {
  readonly implementations: readonly ImplementationResult[];
}

/** The columns: the names of the suites, and their titles. */
export const COLUMNS = {
  histories: "broken histories",
  cuts: "cut conversations",
  updates: "updates",
  streams: "broken streams",
  windows: "full windows",
  server: "cancelled runs",
} as const satisfies Readonly<Record<string, string>>;

/** The day of the latest score, and all versions, as one line. */
export function describeRun({ implementations }: Results): string {
  const date = implementations
    .map((each) => each.date)
    .toSorted()
    .at(-1);
  const versions = Object.assign({}, ...implementations.map((each) => each.versions));
  const peers = Object.entries(versions).filter(([name]) => name !== "langgraph-tether");
  return `${date}; ${peers.map(([name, version]) => `${name} ${version}`).join(", ")}`;
}
