import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer } from "../../scripts/dev-server.js";
import { playCalls } from "../support/call-script.js";
import {
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { type RunOptions, readLog, serve, Thread, until } from "./served.js";
import { AGENTS } from "./shared-server.js";

const served = serve();

/** Begins a batch of two calls, and returns when the second has ended; `slow` never will. */
async function beginBatch(thread: Thread, label: string, slow = "heedful"): Promise<string> {
  const request = `call ${slow} {"label": "${label}", "ms": 60000} and call deaf {"label": "${label}"}`;
  const run = await thread.begin(request);
  await until(() => {
    const log = served.log();
    return log.includes(`end deaf:${label}`) && log.includes(`begin ${slow}:${label}`);
  });
  // A tool's end is not yet the end of its task.
  await delay(100);
  return run;
}

/** The batch after it was patched. */
const patched = (label: string, slow = "heedful") => [
  `human: call ${slow} {"label": "${label}", "ms": 60000} and call deaf {"label": "${label}"}`,
  `ai> ${slow} deaf`,
  expect.stringMatching(new RegExp(`^tool! Tool call ${slow} .*: a new message came before it finished\\.`)),
  `tool: deaf done ${label}`,
];

/** What a run that goes on says of the call that had begun. */
const INTERRUPTED = expect.stringMatching(/^tool! Tool call heedful .*: the run ended before it finished\./);

const begun = (label: string) =>
  served.log().filter((line) => line.startsWith("begin") && line.endsWith(`:${label}`));

describe.concurrent("a run that is cancelled in the middle of a batch", () => {
  it.each(["heedful", "deaf"])(
    "keeps what had finished, and says of the rest that it had not (%s)",
    async (slow) => {
      const thread = await served.thread("probe");
      const run = await beginBatch(thread, `cancel-${slow}`, slow);
      await thread.client.runs.cancel(thread.id, run, true);

      await thread.send("hello");
      const found = await thread.script();
      expect(found.slice(0, 5)).toEqual([...patched(`cancel-${slow}`, slow), "human: hello"]);
      expect(begun(`cancel-${slow}`).toSorted()).toEqual(
        [`begin deaf:cancel-${slow}`, `begin ${slow}:cancel-${slow}`].toSorted(),
      );
      await thread.expectToGoOn();
    },
  );

  it("keeps what had finished in the product's own graph", async () => {
    const thread = await served.thread("agent");
    const run = await thread.begin("what is the weather in Slowville, and what is 6*7?");
    await until(() => served.cities.includes("Slowville"));
    await delay(300);
    await thread.client.runs.cancel(thread.id, run, true);

    await thread.send("hello");
    expect((await thread.script()).slice(0, 5)).toEqual([
      "human: what is the weather in Slowville, and what is 6*7?",
      "ai> weather calculator",
      expect.stringMatching(/^tool! Tool call weather .*: a new message came before it finished\./),
      "tool: 42",
      "human: hello",
    ]);
    expect(served.cities.filter((city) => city === "Slowville")).toHaveLength(1);
    await thread.expectToGoOn();
  });

  it("takes a message at once, without waiting for the end of the cancelled run", async () => {
    const thread = await served.thread("probe");
    const run = await beginBatch(thread, "at-once");
    await thread.client.runs.cancel(thread.id, run, false);
    await thread.send("hello", { multitaskStrategy: "enqueue" });
    expect((await thread.script()).slice(0, 5)).toEqual([...patched("at-once"), "human: hello"]);
    await thread.expectToGoOn();
  });
});

describe.concurrent("a message that comes while a run is in flight", () => {
  it("interrupts it, and what had finished is kept", async () => {
    const thread = await served.thread("probe");
    await beginBatch(thread, "interrupt");
    await thread.send("hello", { multitaskStrategy: "interrupt" });
    expect((await thread.script()).slice(0, 5)).toEqual([...patched("interrupt"), "human: hello"]);
    expect(begun("interrupt")).toHaveLength(2);
    await thread.expectToGoOn();
  });

  it("rolls it back, which this server does as an interrupt: what had finished is kept", async () => {
    // langgraph-cli 2.0.0 in development removes only runs that have not begun. A platform that rolls back leaves
    // the history of before.
    const thread = await served.thread("probe");
    await thread.send("hello");
    const before = await thread.script();
    await beginBatch(thread, "rollback");
    await thread.send("again", { multitaskStrategy: "rollback" });
    expect((await thread.script()).slice(0, 7)).toEqual([...before, ...patched("rollback"), "human: again"]);
    expect(begun("rollback")).toHaveLength(2);
    await thread.expectToGoOn();
  });

  it.each<[string, RunOptions]>([
    ["if the client says so", { multitaskStrategy: "enqueue" }],
    ["if the client says nothing", {}],
  ])("waits for its end %s", async (title, options) => {
    const thread = await served.thread("probe");
    await thread.begin(`call heedful {"label": "${title}", "ms": 500} and call deaf`);
    await thread.send("hello", options);
    expect((await thread.script()).slice(1, 6)).toEqual([
      "ai> heedful deaf",
      `tool: heedful done ${title}`,
      "tool: deaf done -",
      expect.stringMatching(/^ai: Here is what the tools returned/),
      "human: hello",
    ]);
    await thread.expectToGoOn();
  });
});

// Slow, as a development server writes its state only some seconds after the last change: `SLOW_TESTS=1`.

const directory = await mkdtemp(join(tmpdir(), "tether-crash-"));

afterAll(() => rm(directory, { recursive: true, force: true }));

const TOOL_LOG = join(directory, "tools.log");
const stateDirectory = join(directory, "state");
const CHECKPOINTS = join(stateDirectory, ".langgraph_api", ".langgraphjs_api.checkpointer.json");

/** Whether the server's file of checkpoints holds a text. Its values are in base64. */
async function isSaved(text: string): Promise<boolean> {
  const file = await readFile(CHECKPOINTS, "utf8").catch(() => "");
  const values = file.match(/[\w+/]{20,}={0,2}/g) ?? [];
  return values.some((value) => Buffer.from(value, "base64").toString().includes(text));
}

/** Our agent, and those of LangChain and deepagents with the middleware. SIGTERM (`stop`) lets a server write its state. */
const CASES = [
  ["kill", "probe"],
  ["kill", "create_agent_tethered"],
  ["kill", "deep_agent"],
  ["stop", "probe"],
] as const;

describe.skipIf(process.env["SLOW_TESTS"] !== "1")(
  "a server that gets a signal in the middle of a batch",
  () => {
    let strict: StrictProvider;
    beforeAll(async () => {
      strict = await startStrictProvider(playCalls);
    });
    afterAll(() => strict.stop());

    /** Ends a server in the middle of `heedful`, and starts another one, in which `use` gets the thread. */
    const restarted = async (
      end: "kill" | "stop",
      graph: string,
      label: string,
      use: (thread: Thread, request: string) => Promise<void>,
    ): Promise<void> => {
      const STRICT_URL = new URL(strict.url("openai")).origin;
      const options = { config: AGENTS, stateDirectory, env: { TOOL_LOG, STRICT_URL } };
      const request = `call heedful {"ms": 60000} and call deaf {"label": "${label}"}`;
      const first = await startDevServer(options);
      const { thread_id } = await first.client.threads.create();
      await new Thread(first.client, graph, thread_id).begin(request);
      await until(() => readLog(TOOL_LOG).includes(`end deaf:${label}`));
      if (end === "kill") {
        await until(() => isSaved(`deaf done ${label}`));
        // The runs are written to a file of their own, at about the same time.
        await delay(500);
      }
      await first[end]();

      const second = await startDevServer(options);
      try {
        // The run of the first server is still written down as busy, so the thread goes on as a copy.
        const copied = await second.client.threads.copy(thread_id);
        const thread = new Thread(second.client, graph, copied.thread_id);
        await use(thread, request);
        await thread.expectToGoOn();
        expect(readLog(TOOL_LOG).filter((line) => line === `begin deaf:${label}`)).toHaveLength(1);
      } finally {
        await second.stop();
      }
    };

    it.each(CASES)("(%s) loses nothing that a tool of %s had returned", async (end, graph) => {
      const label = `saved-${end}-${graph}`;
      await restarted(end, graph, label, async (thread, request) => {
        await thread.send("are you back?");
        expect((await thread.script()).slice(0, 5)).toEqual([
          `human: ${request}`,
          "ai> heedful deaf",
          expect.stringMatching(/^tool! Tool call heedful .*: a new message came before it finished\./),
          `tool: deaf done ${label}`,
          "human: are you back?",
        ]);
      });
    });

    it.each(["kill", "stop"] as const)("(%s) finishes the turn with a null input", async (end) => {
      const label = `finished-${end}`;
      await restarted(end, "probe", label, async (thread, request) => {
        await thread.client.runs.wait(thread.id, "probe", { input: null });
        expect(await thread.script()).toEqual([
          `human: ${request}`,
          "ai> heedful deaf",
          INTERRUPTED,
          `tool: deaf done ${label}`,
          expect.stringMatching(/^ai: Here is what the tools returned/),
        ]);
      });
    });
  },
);
