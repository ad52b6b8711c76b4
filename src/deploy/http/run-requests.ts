/** The runs that a request asks for. */

import type { Context } from "hono";
import { isRecord } from "../../shared/values.js";

/** The routes that start runs. */
export const RUN_ROUTES = [
  "/runs",
  "/runs/stream",
  "/runs/wait",
  "/runs/batch",
  "/runs/crons",
  "/threads/:thread/runs",
  "/threads/:thread/runs/stream",
  "/threads/:thread/runs/wait",
  "/threads/:thread/runs/crons",
  "/threads/:thread/commands",
];

interface RunRequest {
  /** The id or the name of a graph. Undefined for a command that goes on with a run, and for what the server will refuse. */
  readonly assistant: string | undefined;
  readonly webhook: unknown;
}

const STARTING_COMMANDS: readonly unknown[] = ["run.start", "input.respond"];

/** A request without a run gives an empty list, and so does one that the server will refuse. */
export async function runRequestsOf({ req }: Context): Promise<readonly RunRequest[]> {
  if (req.method !== "POST") return [];
  const body: unknown = await req.json().catch(() => undefined);
  return [body].flat().flatMap((entry: unknown) => {
    const isCommand = isRecord(entry) && "method" in entry && req.path.endsWith("/commands");
    const run = isCommand ? entry["params"] : entry;
    if (isCommand && !STARTING_COMMANDS.includes(entry["method"])) return [];
    if (!isRecord(run)) return [];
    const { assistant_id: assistant, webhook } = run;
    return [{ assistant: typeof assistant === "string" ? assistant : undefined, webhook }];
  });
}
