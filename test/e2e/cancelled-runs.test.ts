/** Runs that are cancelled or interrupted in the middle of a batch, and what their threads must keep. */

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
import { AGENTS } from "./shared-servers.js";

const served = serve();

const batchOf = (label: string, slow = "heedful") =>
  `call ${slow} {"label": "${label}", "ms": 60000} and call deaf {"label": "${label}"}`;

/** Begins a batch of two calls, and returns when the second has ended; the first goes on for a minute. */
async function beginBatch(thread: Thread, label: string, slow?: string): Promise<string> {
  const run = await thread.begin(batchOf(label, slow));
  await until(() => served.hasLogged(`end deaf:${label}`, `begin ${slow ?? "heedful"}:${label}`));
  // A tool's end is not yet the end of its task.
  await delay(100);
  return run;
}

async function cancelBatch(thread: Thread, label: string, slow?: string): Promise<void> {
  await thread.client.runs.cancel(thread.id, await beginBatch(thread, label, slow), true);
}

const superseded = (tool: string) =>
  expect.stringMatching(new RegExp(`^tool! Tool call ${tool} .*: a new message came before it finished\\.`));

/** The batch after it was patched. */
const patched = (label: string, slow = "heedful") => [
  `human: ${batchOf(label, slow)}`,
  `ai> ${slow} deaf`,
  superseded(slow),
  `tool: deaf done ${label}`,
];

const begun = (label: string) =>
  served.log().filter((line) => line.startsWith("begin") && line.endsWith(`:${label}`));

describe.concurrent("a run that is cancelled in the middle of a batch", () => {
  it.each(["heedful", "deaf"])(
    "keeps what had finished, and says of the rest that it had not (%s)",
    async (slow) => {
      const [thread, label] = [await served.thread("probe"), `cancel-${slow}`];
      await cancelBatch(thread, label, slow);
      const lines = await thread.send("hello");
      expect(lines.slice(0, 5)).toEqual([...patched(label, slow), "human: hello"]);
      expect(begun(label).toSorted()).toEqual([`begin deaf:${label}`, `begin ${slow}:${label}`].toSorted());
      await thread.expectToGoOn();
    },
  );

  it("keeps what had finished in the product's own graph", async () => {
    const thread = await served.thread("agent");
    const request = "what is the weather in Slowville, and what is 6*7?";
    const run = await thread.begin(request);
    await until(() => served.cities.includes("Slowville"));
    await delay(300);
    await thread.client.runs.cancel(thread.id, run, true);
    expect((await thread.send("hello")).slice(0, 5)).toEqual([
      `human: ${request}`,
      "ai> weather calculator",
      superseded("weather"),
      "tool: 42",
      "human: hello",
    ]);
    expect(served.cities.filter((city) => city === "Slowville")).toHaveLength(1);
    await thread.expectToGoOn();
  });

  it("takes a message at once, without waiting for the end of the cancelled run", async () => {
    const thread = await served.thread("probe");
    await thread.client.runs.cancel(thread.id, await beginBatch(thread, "at-once"), false);
    const lines = await thread.send("hello", { multitaskStrategy: "enqueue" });
    expect(lines.slice(0, 5)).toEqual([...patched("at-once"), "human: hello"]);
    await thread.expectToGoOn();
  });
});

describe.concurrent("what comes after the cancel of a run", () => {
  it.each([
    ["before the next message", 0],
    ["after the next message", 1],
  ])(
    "the result of a tool that ignores it, %s, is in the thread with the message after it",
    async (_, turns) => {
      const [thread, label] = [await served.thread("probe"), `late-${turns}`];
      const run = await thread.begin(`call deaf {"label": "${label}", "ms": 3000}`);
      await until(() => served.hasLogged(`begin deaf:${label}`));
      await thread.client.runs.cancel(thread.id, run, true);
      if (turns > 0) expect((await thread.send("hello"))[2]).toEqual(superseded("deaf"));
      await until(() => served.hasLogged(`end deaf:${label}`));
      await delay(200);
      expect((await thread.send("and now"))[2]).toBe(`tool: deaf done ${label}`);
      await thread.expectToGoOn();
    },
  );

  it("the text that the client has read is in the thread before the next message", async () => {
    const thread = await served.thread("halting");
    const read: string[] = [];
    const payload = {
      input: { messages: [{ role: "user", content: "halt" }] },
      streamMode: ["messages-tuple"] as const,
    };
    const stream = thread.client.runs.stream(thread.id, thread.graph, payload as never);
    let run = "";
    for await (const { event, data } of stream as AsyncIterable<{ event: string; data: unknown }>) {
      if (event === "metadata") run = String(Reflect.get(Object(data), "run_id"));
      if (event !== "messages") continue;
      read.push(String(Reflect.get(Object([data].flat()[0]), "id")));
      await thread.client.runs.cancel(thread.id, run, true);
      break;
    }
    expect(await thread.send("hello")).toEqual([
      "human: halt",
      "ai: You said halt.",
      "human: hello",
      "ai: You said hello.",
    ]);
    expect((await thread.messages())[1]?.id).toBe(read[0]);
  });
});

describe.concurrent("a message that comes while a run is in flight", () => {
  // `rollback` of langgraph-cli 2.0.0 in development removes only runs that have not begun. A platform that rolls back
  // leaves the history of before.
  it.each(["interrupt", "rollback"] as const)(
    "ends it with `%s`, and what had finished is kept",
    async (strategy) => {
      const thread = await served.thread("probe");
      const before = await thread.send("hello");
      await beginBatch(thread, strategy);
      const lines = await thread.send("again", { multitaskStrategy: strategy });
      expect(lines.slice(0, 7)).toEqual([...before, ...patched(strategy), "human: again"]);
      expect(begun(strategy)).toHaveLength(2);
      await thread.expectToGoOn();
    },
  );

  it.each<[string, RunOptions]>([
    ["if the client says so", { multitaskStrategy: "enqueue" }],
    ["if the client says nothing", {}],
  ])("waits for its end %s", async (title, options) => {
    const thread = await served.thread("probe");
    await thread.begin(`call heedful {"label": "${title}", "ms": 500} and call deaf`);
    expect((await thread.send("hello", options)).slice(1, 6)).toEqual([
      "ai> heedful deaf",
      `tool: heedful done ${title}`,
      "tool: deaf done -",
      expect.stringMatching(/^ai: Here is what the tools returned/),
      "human: hello",
    ]);
    await thread.expectToGoOn();
  });
});

describe.concurrent("a run from a checkpoint that comes while a run is in flight", () => {
  it.each<[string, (id: string) => RunOptions]>([
    ["checkpoint_id", (id) => ({ checkpointId: id })],
    ["checkpoint", (id) => ({ checkpoint: { checkpoint_id: id, checkpoint_ns: "" } as never })],
    ["configurable", (id) => ({ config: { configurable: { checkpoint_id: id } } })],
  ])("ends it, wherever `%s` names the checkpoint", async (label, from) => {
    const thread = await served.thread("probe");
    const before = await thread.send("hello");
    const { checkpoint } = await thread.client.threads.getState(thread.id);
    const run = await beginBatch(thread, `from-${label}`);
    const lines = await thread.send("again", from(String(checkpoint.checkpoint_id)));
    expect(lines).toEqual([...before, "human: again", expect.anything()]);
    expect((await thread.client.runs.get(thread.id, run)).status).toBe("interrupted");
  });
});

// Agents of LangChain, deepagents and LangGraph, behind providers that refuse a bad history.

it("Without the middleware, the provider refuses every message after a cancelled run.", async () => {
  const thread = await served.thread("create_agent");
  await cancelBatch(thread, "bare");
  await expect(thread.send("hello")).rejects.toThrow("tool_calls");
});

const isSlow = process.env["SLOW_TESTS"] === "1";
const TETHERED = ["create_agent_tethered", "deep_agent", ...(isSlow ? ["create_agent_delta"] : [])];
const GONE_ON = ["human: hello", "ai: I read: hello"];

const late = (content: string, call: unknown) => ({ role: "tool", content, tool_call_id: call });

describe.concurrent("after a cancelled run", () => {
  it.each(TETHERED)("%s has the finished result, and takes a late one", async (graph) => {
    const [thread, label] = [await served.thread(graph), `cancel-${graph}`];
    await cancelBatch(thread, label);
    expect(await thread.send("hello")).toEqual([...patched(label), ...GONE_ON]);
    expect(begun(label)).toHaveLength(2);
    const closed = (await thread.messages()).find(({ type }) => type === "tool");
    await thread.update(late("late news", Reflect.get(closed ?? {}, "tool_call_id")));
    const results = ["tool: late news", `tool: deaf done ${label}`];
    expect((await thread.script()).slice(1, 4)).toEqual(["ai> heedful deaf", ...results]);
    await thread.expectToGoOn();
  });

  it("create_react_agent, with the field and the hook, goes on, and takes late results", async () => {
    const thread = await served.thread("create_react_agent");
    await cancelBatch(thread, "react");
    await thread.invoke([{ role: "user", content: "hello" }]);
    const [, calls] = await thread.messages();
    // The hook repairs what the model gets, not what is stored.
    expect((await thread.messages()).map(({ type }) => type)).toEqual(["human", "ai", "human", "ai"]);
    const results = (Reflect.get(calls ?? {}, "tool_calls") as { id: string }[]).map(({ id }) =>
      late(`late ${id}`, id),
    );
    await thread.update(...results.toReversed());
    const lines = results.map(({ content }) => `tool: ${content}`);
    expect((await thread.script()).slice(1)).toEqual(["ai> heedful deaf", ...lines, ...GONE_ON]);
    await thread.expectToGoOn();
  });

  it("an agent under a supervisor is asked again", async () => {
    const thread = await served.thread("supervised_agent");
    await cancelBatch(thread, "supervised");
    expect(await thread.script()).toContain(`human: ${batchOf("supervised")}`);
    expect((await thread.send("hello")).slice(-2)).toEqual(["human: hello", "ai: The worker has done it."]);
    const lines = await thread.send('call deaf {"label": "supervised again"}');
    expect(lines.at(-1)).toBe("ai: The worker has done it.");
    expect(begun("supervised again")).toHaveLength(1);
  });
});

describe.concurrent("beside humanInTheLoopMiddleware", () => {
  it.each([
    ["approve", ["tool: heedful done free", "tool: deaf done asked"]],
    // LangChain asks the model at once, without a run of the other call.
    [
      "reject",
      [expect.stringMatching(/^tool! Tool call heedful/), expect.stringMatching(/^tool! User rejected/)],
    ],
  ])("a decision leaves a mixed batch sound: %s", async (type, results) => {
    const thread = await served.thread("create_agent_asking");
    const content = 'call deaf {"label": "asked"} and call heedful {"label": "free"}';
    await thread.invoke([{ role: "user", content }]);
    await thread.resume({ type });
    // LangChain puts the calls that need approval after the others.
    expect((await thread.script()).slice(1, 4)).toEqual(["ai> heedful deaf", ...results]);
    expect((await thread.send("hello")).at(-1)).toBe("ai: I read: hello");
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

describe.skipIf(!isSlow)("a server that gets a signal in the middle of a batch", () => {
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
      expect((await thread.send("are you back?")).slice(0, 5)).toEqual([
        `human: ${request}`,
        "ai> heedful deaf",
        superseded("heedful"),
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
        expect.stringMatching(/^tool! Tool call heedful .*: the run ended before it finished\./),
        `tool: deaf done ${label}`,
        expect.stringMatching(/^ai: Here is what the tools returned/),
      ]);
    });
  });
});
