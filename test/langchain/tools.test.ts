import { setTimeout as delay } from "node:timers/promises";
import type { ToolRuntime } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { lines } from "../support/lines.js";
import { calls } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { type Step, scripted } from "../support/scripted-model.js";
import { inThread, script, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

const asking = makeTool("asking", () => `answered: ${interrupt("Sure?")}`);

const outer = createMiddleware({ name: "Outer", wrapToolCall: (request, handler) => handler(request) });
const throwing = createMiddleware({
  name: "Throwing",
  wrapToolCall: (request, handler) => {
    if (request.toolCall.name === "failing") throw new Error("inner middleware");
    return handler(request);
  },
});

const around = (wrapToolCall: NonNullable<AgentMiddleware["wrapToolCall"]>) =>
  createMiddleware({ name: "Around", wrapToolCall });

const idle = createMiddleware({ name: "Idle", afterModel: () => undefined });

type Thread = ReturnType<typeof openAgent>;

// With a middleware that has `afterModel`, and in version 1, LangChain does not run a call whose id has a result.
it.each([
  ["with a middleware after the model", { middleware: [idle, tetherMiddleware()] }],
  ["in version 1 of its tool node", { middleware: [tetherMiddleware()], version: "v1" }],
])("a call is run, although an earlier call had its id: %s", async (_title, options) => {
  const { fast, runs } = createProbe();
  const model = scripted(
    calls(["fast", { label: "one" }, "x"]),
    "Done.",
    calls(
      ["fast", { label: "two" }, "x"],
      ["fast", { label: "three" }, "x"],
      ["fast", { label: "four" }, "y"],
    ),
    "Done again.",
  );
  const thread = openAgent({ model, tools: [fast], ...options });
  await thread.send("Go.");
  expect(script(await thread.send("Again.")).slice(5)).toEqual(
    lines(
      "ai> fast fast fast | tool: fast done two | tool: fast done three | tool: fast done four",
      "ai: Done again.",
    ),
  );
  expect(runs).toEqual(["fast:one", "fast:two", "fast:three", "fast:four"]);
});

it("a tool gets a key of its call, which is the same when a run with the input null runs it again", async () => {
  const keys: (string | undefined)[] = [];
  const pay = makeTool("pay", async (_, { callKey, signal }: ToolRuntime & { callKey?: string }) => {
    keys.push(callKey);
    if (keys.length <= 2) await delay(60_000, undefined, { ...(signal && { signal }) });
    return "paid";
  });
  pay.metadata = { replay: "safe" };
  const model = scripted(calls(["pay", {}, "a"], ["pay", {}, "b"]), "Done.");
  const thread = openAgent({ model, tools: [pay] });
  const controller = new AbortController();
  const run = thread.run(user("Go."), { signal: controller.signal });
  await expect.poll(() => keys.length).toBe(2);
  controller.abort();
  expect(String((await run).error)).toMatch(/abort/i);
  expect((await thread.run(null)).error).toBeUndefined();
  const [first, second] = keys;
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(second).not.toBe(first);
  expect(keys.slice(2).toSorted()).toEqual([first, second].toSorted());
});

/** A thread of an agent with the probe's tools, whose model gives these responses. */
function open(middleware: readonly object[], ...steps: readonly Step[]) {
  const { fast, failing } = createProbe();
  return openAgent({ model: scripted(...steps), tools: [fast, failing, asking], middleware });
}

const keeping = tetherMiddleware({ keepToolErrors: true });
const passing = tetherMiddleware({ keepToolErrors: false });

describe("a tool that throws", () => {
  it.each([
    ["alone", [keeping]],
    ["inside another middleware", [outer, keeping]],
    ["around another middleware", [keeping, outer]],
  ])("becomes a result, and the calls beside it keep theirs: %s", async (_title, list) => {
    const thread = open(list, calls(["failing"], ["fast"]), "Done.");
    expect(script(await thread.send("Go.")).slice(1)).toEqual(
      lines(
        "ai> failing fast | tool! Error: secret -\n Please fix your mistakes. | tool: fast done -",
        "ai: Done.",
      ),
    );
  });

  it.each([
    ["alone", [passing]],
    ["inside another middleware", [outer, passing]],
    ["around another middleware", [passing, outer]],
  ])(
    "fails the run if the option says so, and its call is closed by the next message: %s",
    async (_title, list) => {
      const thread = open(list, calls(["failing", {}, "x"], ["fast"]), "Done.");
      expect((await thread.run(user("Go."))).error).toMatchObject({ message: "secret -" });
      expect(script(await thread.send("Hello?")).slice(1)).toEqual(
        lines(
          "ai> failing fast | tool! Tool call failing (x)… | tool: fast done - | human: Hello? | ai: Done.",
        ),
      );
    },
  );

  it("is not the same as a middleware that throws, which no option tells the model", async () => {
    const thread = open([keeping, throwing], calls(["failing"], ["fast"]), "Done.");
    expect((await thread.run(user("Go."))).error).toMatchObject({ message: "inner middleware" });
    expect(script(await thread.send("Hello?"))[3]).toBe("tool: fast done -");
  });

  it.each([false, true])(
    "is told by LangChain's own text which arguments are wrong, with `keepToolErrors: %s`",
    async (keepToolErrors) => {
      const list = [outer, tetherMiddleware({ keepToolErrors })];
      const [, , result] = await open(list, calls(["fast", { label: 7 }]), "Done.").send("Go.");
      expect(result?.text).toMatch(/^Error invoking tool 'fast' with kwargs {"label":7} with error: /);
    },
  );

  it("is told where LangChain has not said yet what else wraps tool calls", async () => {
    const checkpointer = new MemorySaver();
    const { failing } = createProbe();
    const open = (...steps: readonly Step[]) =>
      openAgent({
        model: scripted(...steps),
        tools: [failing],
        middleware: [
          humanInTheLoopMiddleware({ interruptOn: { failing: true } } as never),
          outer,
          tetherMiddleware(),
        ],
        checkpointer,
      });
    await open(calls(["failing"])).run(user("Go."));
    const decision = new Command({ resume: { decisions: [{ type: "approve" }] } });
    const inNewProcess = open("Done.");
    expect((await inNewProcess.run(decision)).error).toBeUndefined();
    expect(script(await inNewProcess.read()).at(-1)).toBe("ai: Done.");
  });

  it.each([
    ["alone", [{ ...tetherMiddleware() }]],
    ["of another name", [{ ...tetherMiddleware(), name: "mine" }]],
    ["assigned", [Object.assign({}, tetherMiddleware())]],
  ])("is told where the middleware is a copy: %s", async (_title, list) => {
    const thread = open(list, calls(["failing"]), "Done.");
    expect(script(await thread.send("Go.")).at(-1)).toBe("ai: Done.");
  });

  it("is told in agents that share a middleware and differ in what else wraps tool calls", async () => {
    const shared = tetherMiddleware();
    for (const list of [[shared], [outer, shared]]) {
      const thread = open(list, calls(["failing"]), "Done.");
      expect(script(await thread.send("Go.")).at(-1)).toBe("ai: Done.");
    }
  });

  it("can be an interrupt, which is left to LangGraph", async () => {
    const thread = open([tetherMiddleware()], calls(["asking"]));
    await thread.run(user("Go."));
    const { tasks } = await thread.agent.graph.getState(thread.config);
    expect(tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value))).toEqual(["Sure?"]);
  });
});

describe.each(["v1", "v2"] as const)(
  "what a tool returned is in the thread with the next run (%s)",
  (version) => {
    const recovered = async (middleware: readonly object[], act: (thread: Thread) => Promise<unknown>) => {
      const { failing, fast, runs } = createProbe();
      const model = scripted(calls(["fast"], ["failing"], ["fast", { label: "two" }]), "Done.");
      const thread = openAgent({ model, tools: [failing, fast], middleware, version });
      await act(thread);
      const history = script(await thread.send("And now?"));
      expect(runs.filter((run) => run.startsWith("fast"))).toEqual(["fast:-", "fast:two"]);
      return history.slice(1, -2).join(" | ");
    };
    const fails = async (thread: Thread) => expect((await thread.run(user("Go."))).error).toBeDefined();

    it("if a middleware around it throws", async () => {
      const thrower = around(async (request, handler) => {
        await handler(request);
        throw new Error("audit failed");
      });
      expect(await recovered([thrower, keeping], fails)).toBe(
        "ai> fast failing fast | tool: fast done - | tool! Error: secret -\n Please fix your mistakes. | tool: fast done two",
      );
    });

    it("if the run is aborted while a middleware around it is at work", async () => {
      const abort = new AbortController();
      let returned = 0;
      const slow = around(async (request, handler) => {
        const result = await handler(request);
        returned += 1;
        if (returned === 3) abort.abort();
        await delay(60_000, undefined, { signal: abort.signal });
        return result;
      });
      const cancel = async (thread: Thread) =>
        expect((await thread.run(user("Go."), { signal: abort.signal })).error).toBeDefined();
      expect(await recovered([slow, keeping], cancel)).toMatch(
        /^ai> fast failing fast \| tool: fast done - \| tool! Error: secret -.* \| tool: fast done two$/s,
      );
    });

    it("if another call of the response fails the run", async () => {
      expect(await recovered([passing], fails)).toMatch(
        /^ai> fast failing fast \| tool: fast done - \| tool! Tool call failing .* \| tool: fast done two$/s,
      );
    });
  },
);

it.each(["v1", "v2"] as const)(
  "many calls of a response add no warning of listeners (%s)",
  async (version) => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    const { fast } = createProbe();
    const batch = calls(
      ...Array.from({ length: 12 }, (_, index) => ["fast", { label: `${index}` }] as const),
    );
    const model = scripted(batch, "Done.");
    const { agent } = openAgent({ model, tools: [fast], middleware: [tetherMiddleware()], version });
    await agent.invoke(user("Go."), { ...inThread("1"), signal: new AbortController().signal });
    await delay(1);
    process.off("warning", note);
    expect(warnings).toEqual([]);
  },
);
