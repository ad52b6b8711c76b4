import { setTimeout as delay } from "node:timers/promises";
import { AIMessage, AIMessageChunk, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createAgentGraph,
  type FunctionContext,
  functionMiddleware,
  MiddlewareTermination,
  type Next,
} from "../../../src/index.js";
import { results, returning, schema } from "../../support/batch.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { messagesOf, pairedMessagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };
type Handle = (context: FunctionContext, next: Next) => Promise<void>;

const CHANGES: readonly (readonly [how: string, handle: Handle])[] = [
  [
    "set anew",
    async (context, next) => {
      context.arguments = { amount: 7 };
      await next();
    },
  ],
  [
    "written into",
    async (context, next) => {
      context.arguments["amount"] = 7;
      await next();
    },
  ],
];

describe("arguments", () => {
  it.each(CHANGES)("that are %s reach the tool; the history has the model's", async (_how, handle) => {
    const { tool: give, runs } = returning("given");
    const model = scripted(calls(["give", { amount: 1 }]), "done");
    const graph = createAgentGraph({ model, tools: [give], middleware: [functionMiddleware(handle)] });
    const messages = pairedMessagesOf(await graph.invoke(user("go")));
    expect(runs).toEqual([{ amount: 7 }]);
    expect((messages[1] as AIMessage).tool_calls?.[0]?.args).toEqual({ amount: 1 });
  });

  const NO_OBJECT = /arguments of `give` were refused.*`context\.arguments`.*not an object/;

  it.each<[what: string, args: unknown, text: RegExp]>([
    ["of a wrong type", { amount: "7" }, /arguments of `give`.*not run/s],
    ...[undefined, null, 5, "seven", [1]].map((args): [string, unknown, RegExp] => [
      `that are no object (${JSON.stringify(args)})`,
      args,
      NO_OBJECT,
    ]),
  ])("%s are refused, whatever the tool's schema, and the model is told", async (_what, args, text) => {
    const { tool: give, runs } = returning("given");
    const middleware = functionMiddleware(async (context, next) => {
      context.arguments = args as never;
      await next();
    });
    const [result] = await results({ tools: [give], middleware: [middleware] }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({ status: "error", content: expect.stringMatching(text) });
    expect(runs).toEqual([]);
  });
});

describe("the result", () => {
  it("can come from a cache, without the tool, to each call under its own id", async () => {
    const { tool: give, runs } = returning("given");
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
    const steps = ["a", "b", "c"].map((id) => calls(["give", { amount: 1 }, id]));
    const model = scripted(...steps, "done");
    const messages = pairedMessagesOf(
      await createAgentGraph({ model, tools: [give], middleware: [caching] }).invoke(user("go")),
    );
    const found = messages.filter((message): message is ToolMessage => message.type === "tool");
    expect(found.map(({ tool_call_id, text }) => [tool_call_id, text])).toEqual(
      ["a", "b", "c"].map((id) => [id, "given"]),
    );
    expect(runs).toHaveLength(1);
  });

  it("keeps what is written into it, and is never empty", async () => {
    const { tool: give } = returning("given");
    const writing = functionMiddleware(async (context, next) => {
      await next();
      if (context.result === undefined) return;
      context.result.content = "";
      context.result.artifact = { of: "mine" };
    });
    const checkpointer = new MemorySaver();
    const model = scripted(calls(["give", { amount: 1 }]), "done");
    const graph = createAgentGraph({ model, tools: [give], middleware: [writing], checkpointer });
    await graph.invoke(user("go"), config);
    const result = pairedMessagesOf((await graph.getState(config)).values)[2];
    expect(result).toMatchObject({ content: "(no output)", artifact: { of: "mine" } });
  });

  const answer = (content: string, id: string) => new ToolMessage({ content, tool_call_id: id });
  const VALUES: readonly (readonly [what: string, value: unknown, text: string])[] = [
    ["a message", (id: string) => answer("its own", id), "its own"],
    [
      "a command with the result",
      (id: string) => new Command({ update: { messages: [answer("in it", id)] } }),
      "in it",
    ],
    [
      "a command of pairs",
      (id: string) => new Command({ update: [["messages", [answer("in pairs", id)]]] }),
      "in pairs",
    ],
    ["a command without it", new Command({ update: {} }), "(no output)"],
    ["nothing", undefined, "(no output)"],
  ];

  it.each(VALUES)("of a tool that returns %s is seen and can be replaced", async (_what, value, text) => {
    const seen: unknown[] = [];
    const { tool: give } = returning(value);
    const replacing = functionMiddleware(async (context, next) => {
      await next();
      seen.push(context.result?.text);
      context.result = `${context.result?.text}!`;
    });
    const [result] = await results({ tools: [give], middleware: [replacing] }, ["give", { amount: 1 }]);
    expect([seen, result?.text]).toEqual([[text], `${text}!`]);
  });

  it("of a tool with an artifact keeps it", async () => {
    const give = tool(async () => ["content", { of: "it" }], {
      name: "give",
      description: "give",
      schema: z.object({}),
      responseFormat: "content_and_artifact",
    });
    const passing = functionMiddleware((_context, next) => next());
    const [result] = await results({ tools: [give], middleware: [passing] }, ["give"]);
    expect(result).toMatchObject({ content: "content", artifact: { of: "it" } });
  });

  it.each([[42], [new AIMessage("x")]])(
    "cannot be %j: the run fails, and the call is answered",
    async (value) => {
      const { tool: give } = returning("given");
      const bad = functionMiddleware(async (context) => {
        context.result = value as never;
      });
      const model = scripted(calls(["give", { amount: 1 }]));
      const checkpointer = new MemorySaver();
      const graph = createAgentGraph({ model, tools: [give], middleware: [bad], checkpointer });
      await expect(graph.invoke(user("go"), config)).rejects.toThrow("to be a `ToolMessage` or a text");
      expect(pairedScript((await graph.getState(config)).values).at(-1)).toBe("tool! Error: `give` failed.");
    },
  );
});

describe("a retrying middleware", () => {
  const retrying = (attempts: number[], times = 3) =>
    functionMiddleware(
      async function retry(context, next) {
        do {
          await next();
          attempts.push(context.attempt);
        } while (context.result?.status === "error" && context.attempt < times);
      },
      { retry: true },
    );

  it("repeats the call until it succeeds, and knows the attempt", async () => {
    const attempts: number[] = [];
    const { tool: give, runs } = returning(() => {
      if (attempts.length < 2) throw new Error("not yet");
      return "given";
    });
    const [result] = await results({ tools: [give], middleware: [retrying(attempts)] }, [
      "give",
      { amount: 1 },
    ]);
    expect([attempts, result?.text, runs.length]).toEqual([[1, 2, 3], "given", 3]);
  });

  it("has the whole toolTimeoutMs for each attempt", async () => {
    const attempts: number[] = [];
    const slow = makeTool(
      "give",
      async () => (attempts.length === 0 ? new Promise<never>(() => {}) : "given"),
      schema,
    );
    const options = { tools: [slow], middleware: [retrying(attempts)], toolTimeoutMs: 150 };
    const [result] = await results(options, ["give", { amount: 1 }]);
    expect([attempts, result?.text]).toEqual([[1, 2], "given"]);
  });

  it("does not prevent an interrupt, even if it catches everything; the code before next() runs again", async () => {
    const lines: string[] = [];
    const asking = makeTool("ask", async () => `answered ${interrupt("may I?")}`);
    const catching = functionMiddleware(async (context, next) => {
      lines.push("before");
      await next().catch(() => {
        context.result = "caught";
      });
      lines.push("after");
    });
    const middleware = [retrying([]), catching];
    const model = scripted(calls(["ask"]), "done");
    const graph = createAgentGraph({ model, tools: [asking], middleware, checkpointer: new MemorySaver() });
    expect(await graph.invoke(user("go"), config)).toHaveProperty("__interrupt__.0.value", "may I?");
    const values = await graph.invoke(new Command({ resume: "yes" }), config);
    expect(pairedScript(values).slice(2)).toEqual(["tool: answered yes", "ai: done"]);
    expect(lines).toEqual(["before", "after", "before", "after"]);
  });
});

// What a function middleware does to one call, and its siblings.

const label = z.object({ label: z.string() });
type Behaviour = "terminate" | "throw" | "slow" | "ask" | "pass";

/** An agent whose middleware does with a call what its label says. */
function agent(...steps: Step[]) {
  const runs: string[] = [];
  const work = makeTool(
    "work",
    async ({ label }) => {
      runs.push(label);
      if (label === "slow") await delay(100);
      return label === "ask" ? `answered ${interrupt("may I?")}` : `done ${label}`;
    },
    label,
  );
  const acting = functionMiddleware(async function act(context, next) {
    if (context.arguments["label"] === "throw") throw new Error("thrown");
    if (context.arguments["label"] === "terminate") throw new MiddlewareTermination("terminated");
    await next();
  });
  const model = scripted(...steps);
  const checkpointer = new MemorySaver();
  return { runs, graph: createAgentGraph({ model, tools: [work], middleware: [acting], checkpointer }) };
}

const batch = (...labels: Behaviour[]) => calls(...labels.map((label) => ["work", { label }] as const));

const RESULTS: Readonly<Record<Exclude<Behaviour, "ask">, string>> = {
  terminate: "tool: terminated",
  throw: "tool! Error: `work` failed.",
  slow: "tool: done slow",
  pass: "tool: done pass",
};

describe("of three parallel calls", () => {
  it.each([
    [["terminate", "throw", "slow"]],
    [["slow", "terminate", "throw"]],
    [["throw", "slow", "terminate"]],
  ] as const)("%j each call has its result, in call order, and the thread continues", async (labels) => {
    const { graph, runs } = agent(batch(...labels), batch("pass"), "done");
    await expect(graph.invoke(user("go"), config)).rejects.toThrow(/^thrown$/);
    const wanted = labels.map((label) => RESULTS[label]);
    expect(pairedScript((await graph.getState(config)).values).slice(2)).toEqual(wanted);
    expect(runs).toEqual(["slow"]);
    const lines = pairedScript(await graph.invoke(user("again"), config));
    expect(lines.slice(5)).toEqual(["human: again", "ai> work", "tool: done pass", "ai: done"]);
  });

  it("a termination lets the siblings finish, and the model is not asked again", async () => {
    const { graph } = agent(batch("slow", "terminate", "pass"));
    const lines = pairedScript(await graph.invoke(user("go"), config));
    expect(lines.slice(2)).toEqual([RESULTS.slow, RESULTS.terminate, RESULTS.pass]);
  });
});

describe("a sibling of a call that waits for a human", () => {
  it("throws: the caller gets the error, the wait continues, and nothing is run twice", async () => {
    const { graph, runs } = agent(batch("ask", "throw", "pass"), "done");
    await expect(graph.invoke(user("go"), config)).rejects.toThrow(/^thrown$/);
    const { values, tasks } = await graph.getState(config);
    expect(script(messagesOf(values)).slice(2)).toEqual([RESULTS.throw, RESULTS.pass]);
    expect(tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value))).toEqual(["may I?"]);
    const lines = pairedScript(await graph.invoke(new Command({ resume: "yes" }), config));
    expect(lines.slice(2)).toEqual(["tool: answered yes", RESULTS.throw, RESULTS.pass, "ai: done"]);
    expect(runs).toEqual(["ask", "pass", "ask"]);
  });

  it("terminates: the model is not called after the decision", async () => {
    const { graph } = agent(batch("ask", "terminate"));
    await graph.invoke(user("go"), config);
    const lines = pairedScript(await graph.invoke(new Command({ resume: "yes" }), config));
    expect(lines.slice(2)).toEqual(["tool: answered yes", RESULTS.terminate]);
  });
});

describe("an abort", () => {
  it.each(["before", "after"] as const)("ends a middleware's wait %s next()", async (place) => {
    const probe = createProbe();
    const controller = new AbortController();
    const waiting = functionMiddleware(async function wait(_context, next) {
      if (place === "after") await next();
      setTimeout(() => controller.abort(), 20);
      await delay(60_000, undefined, { ref: false });
    });
    const model = scripted(calls(["fast"]), "done");
    const checkpointer = new MemorySaver();
    const graph = createAgentGraph({ model, tools: [probe.fast], middleware: [waiting], checkpointer });
    const run = graph.invoke(user("go"), { ...config, signal: controller.signal });
    await expect(run).rejects.toThrow(/abort/i);
    const lines = pairedScript(await graph.invoke(user("hello"), config));
    expect(lines.slice(3)).toEqual(["human: hello", "ai: done"]);
    expect(probe.runs).toHaveLength(place === "after" ? 1 : 0);
  });
});

describe("no middleware sees a call", () => {
  const seeing = (seen: FunctionContext[]) => [
    functionMiddleware(async (context, next) => {
      seen.push(context);
      await next();
    }),
  ];

  it("with malformed arguments, and no tool runs, not even one without required arguments", async () => {
    const seen: FunctionContext[] = [];
    const probe = createProbe();
    const broken = new AIMessageChunk({
      content: "",
      tool_call_chunks: [
        { type: "tool_call_chunk", index: 0, id: "bad", name: "fast", args: '{"label": oops' },
      ],
    });
    const model = scripted([broken], "done");
    const graph = createAgentGraph({ model, tools: [probe.fast], middleware: seeing(seen) });
    const lines = pairedScript(await graph.invoke(user("go")));
    expect(lines[2]).toMatch(/^tool! Error: the arguments of `fast` were refused, so it was not run/);
    expect([probe.runs, seen]).toEqual([[], []]);
  });
});

// Function middleware sees calls of tools that the graph does not have, and the errors that tools threw.

const { fast } = createProbe();

describe("a call of a tool that the graph does not have", () => {
  const UNKNOWN = "Error: there is no tool named `slow`. The tools are: fast.";

  it("can be answered by a function middleware", async () => {
    const seen: unknown[] = [];
    const serve = functionMiddleware(async (context) => {
      seen.push([context.call.name, context.arguments, context.tool]);
      context.result = "served";
    });
    const [result] = await results({ tools: [fast], middleware: [serve] }, ["slow", { x: 1 }]);
    expect([result?.text, result?.name]).toEqual(["served", "slow"]);
    expect(seen).toEqual([["slow", { x: 1 }, undefined]]);
  });

  it.each([
    [true, ["ai> slow", "tool: served", "ai: done"]],
    [false, ["ai> slow", `tool! ${UNKNOWN}`]],
  ])(
    "ends the run with `terminateOnUnknownCalls` only if it is not answered: %s",
    async (isServed, lines) => {
      const serve = functionMiddleware(async (context, next) => {
        await next();
        if (isServed) context.result = "served";
      });
      const model = scripted(calls(["slow"]), ...(isServed ? ["done"] : []));
      const graph = createAgentGraph({
        model,
        tools: [fast],
        middleware: [serve],
        terminateOnUnknownCalls: true,
      });
      expect(pairedScript(await graph.invoke(user("go"))).slice(1)).toEqual(lines);
    },
  );
});

describe("the error of the last attempt", () => {
  class BusyError extends Error {
    override readonly name = "BusyError";
  }

  it("lets a middleware retry by its class", async () => {
    const thrown: unknown[] = [];
    const errors = [new BusyError("1"), new BusyError("2"), new Error("for good")];
    const flaky = makeTool("flaky", async () => {
      throw errors.shift();
    });
    const retry = functionMiddleware(
      async (context, next) => {
        do {
          await next();
          thrown.push(context.error);
        } while (context.error instanceof BusyError);
      },
      { retry: true },
    );
    const [result] = await results({ tools: [flaky], middleware: [retry], includeDetailedErrors: true }, [
      "flaky",
    ]);
    expect(thrown.map(String)).toEqual(["BusyError: 1", "BusyError: 2", "Error: for good"]);
    expect(result?.text).toContain("for good");
  });

  it.each<[title: string, run: () => Promise<unknown>, name: string | undefined]>([
    ["of a tool that took too long", () => new Promise(() => {}), "ToolTimeoutError"],
    ["of a tool that returned", async () => "given", undefined],
    [
      "of a value that is no error",
      async () => {
        throw "a text";
      },
      "a text",
    ],
  ])("is that %s", async (_title, run, name) => {
    let error: unknown = "not set";
    const give = tool(run, { name: "give", description: "give", schema: z.object({}) });
    const watch = functionMiddleware(async (context, next) => {
      await next();
      error = context.error;
    });
    await results({ tools: [give], middleware: [watch], toolTimeoutMs: 50 }, ["give"]);
    expect(error instanceof Error ? error.name : error).toBe(name);
  });

  it("names the arguments that the tool's schema refused", async () => {
    let error: unknown;
    const watch = functionMiddleware(async (context, next) => {
      await next();
      error = context.error;
    });
    await results({ tools: [fast], middleware: [watch] }, ["fast", { label: 5 }]);
    expect(String(error)).toContain("did not match expected schema");
  });
});
