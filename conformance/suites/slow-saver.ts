/** A checkpointer in memory whose writes take some milliseconds, as those to a database do. */

import { setTimeout as delay } from "node:timers/promises";
import { MemorySaver } from "@langchain/langgraph";

const WRITE_MS = 8;

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
