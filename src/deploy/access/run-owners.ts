/** Which user started which run in this process. */

/** What is kept: enough for the runs whose streams a client can still join. */
const MOST_RUNS = 50_000;

export interface RunOwners {
  note(runId: string, user: string): void;
  ownerOf(runId: string): string | undefined;
}

/** @param most How many runs are kept. Earlier ones are forgotten. */
export function createRunOwners(most = MOST_RUNS): RunOwners {
  const owners = new Map<string, string>();
  return {
    note: (runId, user) => {
      owners.set(runId, user);
      const [first] = owners.keys();
      if (owners.size > most && first !== undefined) owners.delete(first);
    },
    ownerOf: (runId) => owners.get(runId),
  };
}
