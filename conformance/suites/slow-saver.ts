/** A checkpointer in memory whose writes take a while, as those to a database do. */

import { setTimeout as delay } from "node:timers/promises";
import { MemorySaver } from "@langchain/langgraph";

/** Longer than a step of a run, so that the writes of a cancelled run are still on their way on every machine. */
const WRITE_MS = 60;

export class SlowSaver extends MemorySaver {
  override async put(...given: Parameters<MemorySaver["put"]>): ReturnType<MemorySaver["put"]> {
    await delay(WRITE_MS);
    return super.put(...given);
  }

  override async putWrites(...given: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    await delay(WRITE_MS);
    return super.putWrites(...given);
  }
}
