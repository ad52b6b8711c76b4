/** What the doctor and the page say of a thread rests on what was read, beside what a recording model is then sent. */

import { join } from "node:path";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createDeepAgent } from "deepagents";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createGraphStore, diagnoseThread, planRepair } from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { createInspector } from "../../src/inspector.js";
import { deferred } from "../support/deferred.js";
import { calls, FunctionModel } from "../support/models.js";
import { inThread, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";
import { makeFolder, run } from "./command/command-line.js";

const config = inThread("1");

/** A model that calls `look` and `wait` when a user says "work", and its tools. `wait` ends when it is let go. */
function createWorld() {
  const begun = deferred<void>();
  const ended = deferred<void>();
  const model = new FunctionModel(({ messages }) =>
    messages.at(-1)?.text === "work" ? calls(["look", {}, "l"], ["wait", {}, "w"]) : "done",
  );
  const tools = [
    makeTool("look", async () => "seen"),
    makeTool("wait", async () => {
      begun.resolve();
      await ended.promise;
      return "waited";
    }),
  ];
  return { model, tools, begun: begun.promise, end: () => ended.resolve() };
}

const AGENTS = {
  createAgent: (given: object) => createAgent(given as never).graph,
  createReactAgent: ({ model, ...given }: { readonly model: unknown }) =>
    createReactAgent({ ...given, llm: model } as never),
  createDeepAgent: (given: object) => Reflect.get(createDeepAgent(given as never), "graph") as object,
  createAgentGraph: (given: object) => createAgentGraph(given as never),
} as unknown as Readonly<Record<string, (given: object) => ReturnType<typeof createAgentGraph>>>;

const pageOf = (graph: object, quietMs?: number) => {
  const inspect = createInspector({
    threads: () => createGraphStore({ graph, quietMs }),
    isProtected: true,
  });
  return async (path: string) => (await inspect(new Request(`http://localhost/tether${path}`))).text();
};

describe.each(Object.keys(AGENTS))("a thread of %s", (name) => {
  it("whose run may be going on is not judged until it has been quiet", async () => {
    const checkpointer = new MemorySaver();
    const { begun, end, ...given } = createWorld();
    const graph = AGENTS[name]?.({ ...given, checkpointer });
    if (graph === undefined) throw new Error(`Expected an agent ${name}.`);
    const running = graph.invoke(user("work"), config);
    await begun;
    const report = await diagnoseThread({ graph, config });
    const evidence = expect.stringMatching(
      /^The latest checkpoint is \d+ seconds? old and waits in `tools`: a run may be going on\. The messages were not judged\.$/,
    );
    expect(report).toMatchObject({
      status: "busy",
      outcome: "skipped",
      findings: [{ code: "state/busy", severity: "info", evidence }],
    });
    expect(await planRepair({ graph, config })).toMatchObject({ kind: "skip", reason: "busy" });
    const read = pageOf(graph);
    const page = await read("/threads/1");
    expect(page).toMatch(/waits in <code>tools<\/code>: a run may be going on\./);
    expect(page).not.toMatch(/"bad-text"|chip bad|langgraph-tether repair|class="chip good"/);
    expect(await read("")).toMatch(/may be running.*not judged/s);
    // Who knows that no run is going on gets the verdict.
    expect(await diagnoseThread({ graph, config, quietMs: 0 })).toMatchObject({ status: "idle" });
    end();
    await running;
    expect(await diagnoseThread({ graph, config })).toMatchObject({ status: "idle", outcome: "sound" });
  });
});

it("the command line does not judge or repair a run that may be going on, and does not end with 0", async () => {
  const folder = makeFolder();
  const checkpointer: BaseCheckpointSaver = SqliteSaver.fromConnString(join(folder, "threads.db"));
  const { begun, end, ...given } = createWorld();
  const graph = createAgent({ ...given, checkpointer } as never);
  const running = graph.invoke(user("work") as never, config);
  await begun;
  const over = (...args: string[]) => run([...args, "--sqlite", "threads.db"], { folder });
  const doctor = await over("doctor");
  expect(doctor).toMatchObject({ code: 3, output: expect.stringMatching(/a run may\s+be going on/) });
  expect(doctor.output).not.toContain("✗");
  expect(doctor.output).not.toContain("sound");
  expect((await over("doctor", "--fail-on", "error")).code).toBe(0);
  expect((await over("doctor", "--fail-on", "warning")).code).toBe(3);
  const json = JSON.parse((await over("doctor", "--format", "json")).output);
  expect(json).toMatchObject({ outcome: "partly-judged", counts: { sound: 0, skipped: 1, errors: 0 } });
  expect((await over("doctor", "--quiet-for", "0s")).code).toBe(1);
  end();
  await running;
  expect(await over("doctor")).toMatchObject({
    code: 0,
    output: expect.stringContaining("1 thread is sound"),
  });
});
