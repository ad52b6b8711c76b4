import { setTimeout as delay } from "node:timers/promises";
import { AIMessage, AIMessageChunk, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentGraphOptions, functionMiddleware, MiddlewareTermination } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { results, returning, schema } from "../../support/batch.js";
import { afterNext, beforeNext, type Change, insteadOfNext, set } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import type { Step } from "../../support/scripted-model.js";
import { rowsOf } from "../../support/test-tools.js";
import { script } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

type Options = Partial<AgentGraphOptions>;
type Middleware = ReturnType<typeof functionMiddleware>;

/** A tool `give`, and the result of one call of it around which this middleware stands. */
function giving(value: unknown, ...middleware: ReturnType<typeof beforeNext>[]) {
  const { tool: give, runs } = returning(value);
  const call = ["give", { amount: 1 }] as const;
  return {
    runs,
    result: async (options: Options = {}) =>
      (await results({ tools: [give], middleware, ...options }, call))[0],
    thread: (...steps: Step[]) => agentThread([calls(call), ...steps], { tools: [give], middleware }),
  };
}

describe("arguments", () => {
  it.each<[how: string, change: Change<"function">]>([
    ["set anew", set({ arguments: { amount: 7 } })],
    ["written into", (context) => Object.assign(context.arguments, { amount: 7 })],
  ])("that are %s reach the tool; the history has the model's", async (_how, change) => {
    const { runs, thread } = giving("given", beforeNext("function", change));
    const { invoke, messages } = thread("done");
    await invoke();
    expect(runs).toEqual([{ amount: 7 }]);
    expect(((await messages())[1] as AIMessage).tool_calls?.[0]?.args).toEqual({ amount: 1 });
  });

  const NO_OBJECT = /arguments of `give` were refused.*`context\.arguments`.*not an object/;

  it.each<[args: unknown, text: RegExp]>([
    [{ amount: "7" }, /arguments of `give`.*not run/s],
    ...[undefined, null, 5, "seven", [1]].map((args): [unknown, RegExp] => [args, NO_OBJECT]),
  ])("that do not fit are refused, and the model is told: %j", async (args, text) => {
    const { runs, result } = giving("given", beforeNext("function", set({ arguments: args })));
    expect(await result()).toMatchObject({ status: "error", content: expect.stringMatching(text) });
    expect(runs).toEqual([]);
  });

  it("that are malformed are seen by no middleware, and no tool runs", async () => {
    const seen: unknown[] = [];
    const chunk = {
      type: "tool_call_chunk",
      index: 0,
      id: "bad",
      name: "fast",
      args: '{"label": oops',
    } as const;
    const broken = [new AIMessageChunk({ content: "", tool_call_chunks: [chunk] })];
    const middleware = [beforeNext("function", (context) => seen.push(context))];
    const { run, runs } = agentThread([broken, "done"], { middleware });
    expect((await run())[2]).toMatch(/^tool! Error: the arguments of `fast` were refused, so it was not run/);
    expect([runs, seen]).toEqual([[], []]);
  });
});

describe("the result", () => {
  it("can come from a cache, without the tool, to each call under its own id", async () => {
    const cache = new Map<string, ToolMessage>();
    const caching = functionMiddleware(async (context, next) => {
      const key = JSON.stringify(context.arguments);
      const known = cache.get(key);
      if (known !== undefined) context.result = known;
      else {
        await next();
        if (context.result !== undefined) cache.set(key, context.result);
      }
    });
    const { tool: give, runs } = returning("given");
    const steps = ["a", "b", "c"].map((id) => calls(["give", { amount: 1 }, id]));
    const thread = agentThread([...steps, "done"], { tools: [give], middleware: [caching] });
    await thread.invoke();
    const found = (await thread.messages()).filter(({ type }) => type === "tool");
    expect(found).toMatchObject(["a", "b", "c"].map((tool_call_id) => ({ tool_call_id, content: "given" })));
    expect(runs).toHaveLength(1);
  });

  it("keeps what is written into it, and is never empty", async () => {
    const write: Change<"function"> = ({ result }) =>
      Object.assign(result ?? {}, { content: "", artifact: { of: "mine" } });
    const { invoke, messages } = giving("given", afterNext("function", write)).thread("done");
    await invoke();
    expect((await messages())[2]).toMatchObject({ content: "(no output)", artifact: { of: "mine" } });
  });

  const answer = (content: string, id: string) => new ToolMessage({ content, tool_call_id: id });
  const VALUES = rowsOf<[value: unknown, text: string]>({
    "a message": [(id: string) => answer("its own", id), "its own"],
    "a command with the result": [
      (id: string) => new Command({ update: { messages: [answer("in it", id)] } }),
      "in it",
    ],
    "a command of pairs": [
      (id: string) => new Command({ update: [["messages", [answer("in pairs", id)]]] }),
      "in pairs",
    ],
    "a command without it": [new Command({ update: {} }), "(no output)"],
    nothing: [undefined, "(no output)"],
  });

  it.each(VALUES)("of a tool that returns %s is seen and can be replaced", async (_what, value, text) => {
    const seen: unknown[] = [];
    const replace: Change<"function"> = (context) => {
      seen.push(context.result?.text);
      context.result = `${context.result?.text}!`;
    };
    const result = await giving(value, afterNext("function", replace)).result();
    expect([seen, result?.text]).toEqual([[text], `${text}!`]);
  });

  it("of a tool with an artifact keeps it", async () => {
    const fields = { name: "give", schema: z.object({}), responseFormat: "content_and_artifact" } as const;
    const give = tool(async () => ["content", { of: "it" }], fields);
    const middleware = [beforeNext("function", () => {})];
    const [result] = await results({ tools: [give], middleware }, ["give"]);
    expect(result).toMatchObject({ content: "content", artifact: { of: "it" } });
  });

  it.each([[42], [new AIMessage("x")]])(
    "cannot be %j: the run fails, and the call is answered",
    async (value) => {
      const { invoke, lines } = giving("given", insteadOfNext("function", set({ result: value }))).thread();
      await expect(invoke()).rejects.toThrow("to be a `ToolMessage` or a text");
      expect((await lines()).at(-1)).toBe("tool! Error: `give` failed.");
    },
  );
});

describe("a retrying middleware", () => {
  /** Tries again while the result is an error, or while this holds. */
  const retrying = (attempts: number[], isToRepeat: (error: unknown) => boolean = () => true): Middleware =>
    functionMiddleware(
      async (context, next) => {
        do {
          await next();
          attempts.push(context.attempt);
        } while (context.result?.status === "error" && context.attempt < 3 && isToRepeat(context.error));
      },
      { retry: true },
    );

  it("repeats the call until it succeeds, and knows the attempt", async () => {
    const attempts: number[] = [];
    const value = () => {
      if (attempts.length < 2) throw new Error("not yet");
      return "given";
    };
    const { runs, result } = giving(value, retrying(attempts));
    expect(await result()).toMatchObject({ content: "given" });
    expect([attempts, runs.length]).toEqual([[1, 2, 3], 3]);
  });

  it("has the whole toolTimeoutMs for each attempt", async () => {
    const attempts: number[] = [];
    const value = () => (attempts.length === 0 ? new Promise<never>(() => {}) : "given");
    const result = await giving(value, retrying(attempts)).result({ toolTimeoutMs: 150 });
    expect([attempts, result?.text]).toEqual([[1, 2], "given"]);
  });

  it("can decide by the class of the error of the last attempt", async () => {
    class BusyError extends Error {}
    const errors = [new BusyError("1"), new Error("for good"), new BusyError("not reached")];
    const attempts: number[] = [];
    const value = () => Promise.reject(errors[attempts.length]);
    const { result } = giving(
      value,
      retrying(attempts, (error) => error instanceof BusyError),
    );
    expect((await result({ includeDetailedErrors: true }))?.text).toContain("for good");
    expect(attempts).toEqual([1, 2]);
  });

  it("does not prevent an interrupt, even if it catches everything; the code before next() runs again", async () => {
    const lines: string[] = [];
    const catching = functionMiddleware(async (context, next) => {
      lines.push("before");
      await next().catch(() => set({ result: "caught" })(context));
      lines.push("after");
    });
    const { invoke, run } = agentThread([calls(["ask"]), "done"], { middleware: [retrying([]), catching] });
    expect(await invoke()).toHaveProperty("__interrupt__.0.value", "may I?");
    const resumed = await run(new Command({ resume: "yes" }));
    expect(resumed.slice(2)).toEqual(["tool: answered yes", "ai: done"]);
    expect(lines).toEqual(["before", "after", "before", "after"]);
  });
});

describe("the error of a call is", () => {
  const { fast } = createProbe();
  const give = (run: () => unknown) => makeTool("give", run, schema.partial());
  const never = () => new Promise<never>(() => {});
  const ERRORS = rowsOf<[tool: typeof fast | ReturnType<typeof give>, args: object, error: unknown]>({
    "that of a tool that took too long": [
      give(never),
      {},
      expect.objectContaining({ name: "ToolTimeoutError" }),
    ],
    "nothing if the tool returned": [give(() => "given"), {}, undefined],
    "the value that it threw": [give(() => Promise.reject("a text")), {}, "a text"],
    "what the tool's schema refused": [
      fast,
      { label: 5 },
      expect.objectContaining({ message: expect.stringContaining("did not match expected schema") }),
    ],
  });

  it.each(ERRORS)("%s", async (_title, given, args, error) => {
    let seen: unknown = "not set";
    const watch = afterNext("function", (context) => {
      seen = context.error;
    });
    await results({ tools: [given], middleware: [watch], toolTimeoutMs: 50 }, [given.name, args]);
    expect(seen).toEqual(error);
  });
});

describe("a call of a tool that the graph does not have", () => {
  const { fast } = createProbe();

  it("can be answered by a function middleware", async () => {
    const seen: unknown[] = [];
    const serve = insteadOfNext("function", (context) => {
      seen.push([context.call.name, context.arguments, context.tool]);
      context.result = "served";
    });
    const [result] = await results({ tools: [fast], middleware: [serve] }, ["slow", { x: 1 }]);
    expect([result?.text, result?.name]).toEqual(["served", "slow"]);
    expect(seen).toEqual([["slow", { x: 1 }, undefined]]);
  });

  it.each<[isServed: boolean, steps: Step[], lines: string[]]>([
    [true, ["done"], ["tool: served", "ai: done"]],
    [false, [], ["tool! Error: there is no tool named `slow`. The tools are: fast."]],
  ])(
    "ends the run with `terminateOnUnknownCalls` only if it is not answered: %s",
    async (isServed, steps, lines) => {
      const middleware = [afterNext("function", isServed ? set({ result: "served" }) : () => {})];
      const options = { tools: [fast], middleware, terminateOnUnknownCalls: true };
      expect((await agentThread([calls(["slow"]), ...steps], options).run()).slice(2)).toEqual(lines);
    },
  );
});

// What a function middleware does to one call, and its siblings.

type Behaviour = "terminate" | "throw" | "slow" | "ask" | "pass";

/** An agent whose middleware does with a call what its label says. */
function siblings(...steps: Step[]) {
  const runs: string[] = [];
  const work = makeTool(
    "work",
    async ({ label }) => {
      runs.push(label);
      if (label === "slow") await delay(100);
      return label === "ask" ? `answered ${interrupt("may I?")}` : `done ${label}`;
    },
    z.object({ label: z.string() }),
  );
  const acting = beforeNext("function", (context) => {
    if (context.arguments["label"] === "throw") throw new Error("thrown");
    if (context.arguments["label"] === "terminate") throw new MiddlewareTermination("terminated");
  });
  return { ...agentThread(steps, { tools: [work], middleware: [acting] }), runs };
}

const batch = (...labels: Behaviour[]) => calls(...labels.map((label) => ["work", { label }] as const));
const resumed = new Command({ resume: "yes" });

const RESULTS: Readonly<Record<Behaviour, string>> = {
  terminate: "tool: terminated",
  throw: "tool! Error: `work` failed.",
  slow: "tool: done slow",
  pass: "tool: done pass",
  ask: "tool: answered yes",
};
const resultsOf = (...labels: readonly Behaviour[]) => labels.map((label) => RESULTS[label]);

describe("of parallel calls", () => {
  it.each<[Behaviour[]]>([
    [["terminate", "throw", "slow"]],
    [["slow", "terminate", "throw"]],
    [["throw", "slow", "terminate"]],
  ])("%j each call has its result, in call order, and the thread continues", async (labels) => {
    const { invoke, run, lines, runs } = siblings(batch(...labels), batch("pass"), "done");
    await expect(invoke()).rejects.toThrow(/^thrown$/);
    expect((await lines()).slice(2)).toEqual(resultsOf(...labels));
    expect(runs).toEqual(["slow"]);
    const again = await run("again");
    expect(again.slice(5)).toEqual(["human: again", "ai> work", "tool: done pass", "ai: done"]);
  });

  it("one that throws leaves the wait for a human: the caller gets the error, and nothing runs twice", async () => {
    const { invoke, run, runs, state, messages } = siblings(batch("ask", "throw", "pass"), "done");
    await expect(invoke()).rejects.toThrow(/^thrown$/);
    expect(script(await messages()).slice(2)).toEqual(resultsOf("throw", "pass"));
    const interrupts = (await state()).tasks.flatMap((task) => task.interrupts);
    expect(interrupts.map(({ value }) => value)).toEqual(["may I?"]);
    expect((await run(resumed)).slice(2)).toEqual([...resultsOf("ask", "throw", "pass"), "ai: done"]);
    expect(runs).toEqual(["ask", "pass", "ask"]);
  });

  it("one that terminates beside a wait for a human: the model is not called after the decision", async () => {
    const { invoke, run } = siblings(batch("ask", "terminate"));
    await invoke();
    expect((await run(resumed)).slice(2)).toEqual(resultsOf("ask", "terminate"));
  });
});

it.each([
  ["before", 0],
  ["after", 1],
] as const)("An abort ends a middleware's wait %s next()", async (place, count) => {
  const controller = new AbortController();
  const wait = async () => {
    setTimeout(() => controller.abort(), 20);
    await delay(60_000, undefined, { ref: false });
  };
  const middleware = [place === "before" ? beforeNext("function", wait) : afterNext("function", wait)];
  const { invoke, run, runs } = agentThread([calls(["fast"]), "done"], { middleware });
  await expect(invoke("go", { signal: controller.signal })).rejects.toThrow(/abort/i);
  expect((await run("hello")).slice(3)).toEqual(["human: hello", "ai: done"]);
  expect(runs).toHaveLength(count);
});
