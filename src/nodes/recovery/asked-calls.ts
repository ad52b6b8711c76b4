/** What a thread asks a human. */

import { z } from "zod/v4";

const askedSchema = z.object({
  value: z.object({
    action_requests: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        args: z.record(z.string(), z.unknown()),
        description: z.string(),
      }),
    ),
    problem: z.string().optional(),
  }),
});

/** A call that a human was asked about. Its description does not end with the problem of a decision. */
export interface AskedCall {
  /** The id of the tool call. */
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly description: string;
}

/** The calls that pending interrupts ask about. Empty if they ask for something else. */
export function askedCalls(interrupts: unknown): AskedCall[] {
  return [interrupts].flat().flatMap((entry) => {
    const { data } = askedSchema.safeParse(entry);
    if (data === undefined) return [];
    const { action_requests, problem } = data.value;
    const ending = problemText(problem);
    return action_requests.map(({ description, ...asked }) => ({
      ...asked,
      description: description.endsWith(ending)
        ? description.slice(0, description.length - ending.length)
        : description,
    }));
  });
}

/** Chat UIs show the description but not `problem`. */
export function problemText(problem: string | undefined): string {
  return problem === undefined ? "" : `\n\nThe last decision was not used: ${problem}`;
}
