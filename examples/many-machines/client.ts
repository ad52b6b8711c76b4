/** What a web server does: it enqueues messages, follows turns and cancels them. It runs no agent. */

import { randomUUID } from "node:crypto";
import { DBOSClient } from "@dbos-inc/dbos-sdk";
import { DATABASE_URL, openPool, TURNS_AT_ONCE } from "./agent.js";

/** The names that the application, its queue and its workflow have in the database. */
export const APPLICATION = "many-machines";
export const TURN = "turn";
const queueName = "turns";

/** What a worker tells of a turn while it goes on. */
export interface TurnEvent {
  readonly worker: string;
  readonly text: string;
}

/** Contract: returns the final response. The id of the job is the id of the message. */
export type Turn = (threadId: string, content: string) => Promise<string>;

export async function connect() {
  const pool = openPool(5);
  const client = await DBOSClient.create({
    systemDatabaseUrl: DATABASE_URL,
    systemDatabasePool: pool,
    applicationName: APPLICATION,
  });
  // One turn at a time for each thread, in the order of the messages.
  await client.registerQueue(queueName, {
    partitionConcurrency: 1,
    workerConcurrency: TURNS_AT_ONCE,
    minPollingIntervalMs: 100,
  });
  return {
    /** Enqueues a message, and returns its id. The same id again is the same job, so nothing is done twice. */
    send: async (threadId: string, content: string, id: string = randomUUID()): Promise<string> => {
      const options = { queueName, workflowName: TURN, workflowID: id, queuePartitionKey: threadId };
      await client.enqueue<Turn>(options, threadId, content);
      return id;
    },
    /** The events of a turn, until it ends. A client that was away passes how many it has. */
    events: (id: string, offset = 0) => client.readStream<TurnEvent>(id, "events", { offset }),
    /** Waits for the final response. */
    response: (id: string): Promise<string> => client.retrieveWorkflow<string>(id).getResult(),
    /** The worker hears of it within a second. What the turn has done by then stays in the thread. */
    cancel: (id: string) => client.cancelWorkflow(id),
    /** Gives a turn to another worker. That one waits for the lock of the thread, if the first one still has it. */
    giveBack: (id: string) => client.resumeWorkflow(id, { queueName }),
    /** Gives all turns of a worker that is gone to the others. */
    giveBackAll: async (worker: string): Promise<void> => {
      const turns = await client.listWorkflows({ executorId: worker, status: "PENDING" });
      const ids = turns.map(({ workflowID }) => workflowID);
      await client.resumeWorkflows(ids, { queueName });
    },
    close: async (): Promise<void> => {
      await client.destroy();
      await pool.end();
    },
  };
}
