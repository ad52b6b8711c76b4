/** A process that repairs the threads of a deployment, and can kill itself at any of its writes. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { applyRepair, openReceipt, planRepair, type ReceiptWriter } from "../../src/doctor.js";
import type { AgentName } from "../support/deployment/agents.js";
import { storeOf } from "../support/deployment/prove.js";
import { openSqlite } from "../support/deployment/stored-deployment.js";

export interface RepairJob {
  readonly folder: string;
  readonly agents: readonly AgentName[];
  readonly receipt: string;
  /** It dies before its write of this number. Undefined: it does not kill itself. */
  readonly killAt: number | undefined;
}

async function work({ folder, agents, receipt: path, killAt }: RepairJob): Promise<void> {
  let count = 0;
  const pass = () => {
    count += 1;
    if (count === killAt) process.kill(process.pid, "SIGKILL");
  };
  /** Dies before and after each write, which can be the same for the database. */
  const around = async <T>(write: () => Promise<T>): Promise<T> => {
    pass();
    const written = await write();
    pass();
    return written;
  };
  const file = await openReceipt(path);
  const receipt: ReceiptWriter = { append: (entry) => around(() => file.append(entry)) };
  process.send?.("started");
  for (const agent of agents) {
    const database = openSqlite(folder, agent);
    const { saver } = database;
    // It inherits, so that the doctor can read the stored JSON with it.
    const watched: BaseCheckpointSaver = Object.assign(Object.create(saver), {
      put: (...given: Parameters<typeof saver.put>) => around(() => saver.put(...given)),
      putWrites: (...given: Parameters<typeof saver.putWrites>) => around(() => saver.putWrites(...given)),
    });
    const store = storeOf(
      { threads: [], databases: new Map([[agent, { ...database, saver: watched }]]) },
      agent,
    );
    for await (const ref of store.threads({}))
      await applyRepair({ store, ref }, planRepair(await store.read(ref)), { receipt });
    await database.close();
  }
  await file.close();
  process.send?.(count);
  process.disconnect();
}

// LangChain prints it for each message whose calls it has not read.
console.warn = (...words) => {
  if (!/^New LangChain packages are available/.test(String(words[0]))) console.error(...words);
};
process.once("message", (job: RepairJob) => void work(job));
process.send?.("ready");
