/** A message directly after an abort under `tetherMiddleware`, over each database. */

import { describe, expect, it } from "vitest";
import { createAgentGraph, ThreadConflictError } from "../../src/index.js";
import { abortAndSend, openAbortable, WHOLE } from "../support/aborted-runs.js";
import { DURABILITIES } from "../support/crashing-thread.js";
import { FunctionModel } from "../support/models.js";
import { SAVERS } from "../support/savers.js";
import { inThread, user } from "../support/thread.js";

/** The others are proxies here, which stay as they are. */
const DATABASES = SAVERS.filter(({ isThere, title }) => isThere && /^(?:Sqlite|Postgres)/.test(title));

describe.each(DATABASES)("With $title", ({ open }) => {
  it.each(DURABILITIES)(
    "a message directly after an abort finds all of the aborted run: %s",
    async (durability) => {
      const opened = openAbortable((await open()).connect());
      for (const thread of ["1", "2", "3", "4", "5"])
        expect(await abortAndSend(opened, opened, thread, durability)).toEqual(WHOLE);
    },
  );

  it("a graph with the same checkpointer still notices other writers", async () => {
    const { connect } = await open();
    const [shared, other] = [connect(), connect()];
    await openAbortable(shared).agent.invoke(user("Hello?") as never, inThread("other"));
    const answer = () => createAgentGraph({ model: new FunctionModel(() => "fine"), checkpointer: other });
    const model = new FunctionModel(async () => {
      await answer().invoke(user("meanwhile"), inThread("1"));
      return "too late";
    });
    const run = createAgentGraph({ model, checkpointer: shared }).invoke(user("go"), inThread("1"));
    await expect(run).rejects.toThrow(ThreadConflictError);
  });
});
