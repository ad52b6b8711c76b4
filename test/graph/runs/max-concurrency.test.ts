import { tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

describe("maxConcurrency of a run", () => {
  it.each([
    [undefined, 4],
    [2, 2],
    [1, 1],
  ])("%j: at most %j calls of a batch at once", async (maxConcurrency, expected) => {
    let running = 0;
    let most = 0;
    const slow = tool(
      async () => {
        running += 1;
        most = Math.max(most, running);
        await turns();
        running -= 1;
        return "done";
      },
      { name: "slow", description: "slow", schema: z.object({}) },
    );
    const model = scripted(calls(["slow"], ["slow"], ["slow"], ["slow"]), "the end");
    const graph = createAgentGraph({ model, tools: [slow] });
    const limit = maxConcurrency === undefined ? {} : { maxConcurrency };
    expect(pairedScript(await graph.invoke(user("go"), limit))).toHaveLength(7);
    expect(most).toBe(expected);
  });

  it.each([0, -1, 1.5, "2"])("refuses %j", async (maxConcurrency) => {
    const graph = createAgentGraph({ model: "offline:" });
    const run = graph.invoke(user("go"), { maxConcurrency: maxConcurrency as number });
    await expect(run).rejects.toThrow("`maxConcurrency`");
  });

  it("begins no call when the run has been aborted", async () => {
    const probe = createProbe();
    const model = scripted(calls(["heedful"], ["heedful"], ["heedful"]));
    const graph = createAgentGraph({ model, tools: [probe.heedful] });
    const abort = new AbortController();
    const run = graph.invoke(user("go"), { maxConcurrency: 1, signal: abort.signal });
    await probe.hasBegun(1);
    abort.abort();
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    await turns();
    expect(probe.runs).toHaveLength(1);
  });
});
