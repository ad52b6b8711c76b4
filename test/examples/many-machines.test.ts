import { expect, it } from "vitest";
import { runScript } from "../scripts/run-script.js";

/** It installs a PostgreSQL server when it is used first, and starts two processes that load DBOS. */
it.runIf(process.env["SLOW_TESTS"] === "1")(
  "the example of many machines finishes the turn of a worker that is killed, and the turn after one that is cancelled",
  { timeout: 300_000 },
  async () => {
    const program = runScript("../examples/many-machines/run.ts");
    expect(await program.ended, program.errors()).toBe(0);
    const output = program.output().replaceAll(/^worker-\d(?=:)/gm, "worker");
    const lines = output.split("\n");
    const [, killed] = /^(worker-\d) has ended: SIGKILL$/m.exec(output) ?? [];
    const [, stopped] = /^(worker-\d) has ended: SIGTERM$/m.exec(output) ?? [];
    expect([killed, stopped].toSorted()).toEqual(["worker-1", "worker-2"]);
    expect(lines).toContain("worker: sky: Paris: clear sky");
    expect(lines).toContain("- sky returned: Paris: clear sky");
    expect(lines).toContain("worker: sky: Lyon: clear sky");
    expect(lines).toContain("worker: wait: waited 2 s");
    expect(lines).toContain("The response: sky returned: Oslo: clear sky");
  },
);
