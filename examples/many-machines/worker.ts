/**
 * A worker takes turns from the queue, and runs the agent. Start as many as you like, on any machine:
 *
 *     DATABASE_URL=postgresql://… WORKER=worker-1 npx tsx examples/many-machines/worker.ts
 */

import { hostname } from "node:os";
import { DBOS } from "@dbos-inc/dbos-sdk";
import type { BaseMessage } from "@langchain/core/messages";
import { GraphDrained, RunControl } from "@langchain/langgraph";
import { DATABASE_URL, openAgent, openPool } from "./agent.js";
import { APPLICATION, connect, TURN, type Turn, type TurnEvent } from "./client.js";

/** Each worker has a name of its own. */
const worker = process.env["WORKER"] ?? hostname();
const { agent, close } = openAgent();
const client = await connect();
/** All runs share it: when it drains, each of them ends at its next checkpoint, and no other one begins. */
const control = new RunControl();

/** A job that is run again passes the same message with the same id. So the turn is finished, and not begun anew. */
const runTurn: Turn = async (thread_id, content) => {
  const id = DBOS.workflowID ?? "";
  const run = async (): Promise<string> => {
    const input = { messages: [{ role: "user", id, content }] };
    const chunks = await agent.stream(input, {
      configurable: { thread_id },
      control,
      streamMode: ["updates", "values"],
      ...(DBOS.stepStatus && { signal: DBOS.stepStatus.cancelSignal }),
    });
    let response = "";
    for await (const [mode, chunk] of chunks) {
      if (mode === "values") response = chunk.messages.at(-1)?.text ?? "";
      else for (const text of textsOf(chunk)) await DBOS.writeStream<TurnEvent>("events", { worker, text });
    }
    return response;
  };
  const shouldRetry = (error: unknown) => !(error instanceof GraphDrained);
  try {
    return await DBOS.runStep(run, { name: TURN, retriesAllowed: true, shouldRetry });
  } catch (error) {
    if (error instanceof GraphDrained) await client.giveBack(id);
    throw error;
  }
};

/** What each node has added to the thread. */
function textsOf(updates: { readonly [node: string]: { messages?: BaseMessage[] } | object[] }): string[] {
  const messages = Object.values(updates).flatMap((update) =>
    "messages" in update ? (update.messages ?? []) : [],
  );
  return messages.flatMap(({ type, name, text }) => (text === "" ? [] : `${name ?? type}: ${text}`));
}

// What a rolling deploy sends.
process.once("SIGTERM", async () => {
  control.requestDrain("SIGTERM");
  await DBOS.shutdown({ workflowCompletionTimeoutMS: 20_000 });
  await client.giveBackAll(worker);
  await Promise.all([client.close(), close()]);
  process.exit();
});

DBOS.registerWorkflow(runTurn, { name: TURN });
DBOS.setConfig({
  name: APPLICATION,
  systemDatabaseUrl: DATABASE_URL,
  systemDatabasePool: openPool(10),
  runMigrations: false,
  executorID: worker,
  // The thread says how far a turn is, so any version of this program can go on with it.
  applicationVersion: "any",
  logLevel: "error",
});
await DBOS.launch();
console.log(`${worker} works`);
