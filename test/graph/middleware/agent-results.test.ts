/** A result that an agent middleware sets or changes is in the thread and on the stream. */

import { setTimeout as delay } from "node:timers/promises";
import { HumanMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type AgentGraphOptions, agentMiddleware, createAgentGraph } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { afterNext, type Change, insteadOfNext, set } from "../../support/middleware.js";
import { calls, FunctionModel } from "../../support/models.js";
import { parentOf } from "../../support/plain-graph.js";
import type { Step } from "../../support/scripted-model.js";
import { PlainClient, shown } from "../../support/stream-faults.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const config = inThread("1");
type Options = Partial<AgentGraphOptions>;

/** A thread of which a client reads the streams: in the end it must have what the run added to the thread. */
function streamed(steps: readonly Step[], options: Options) {
  const thread = agentThread(steps, options);
  const stream = async (input: unknown = "go"): Promise<string[]> => {
    const before = (await thread.messages()).length;
    const { messages, error } = await thread.send(input);
    expect(error).toBeUndefined();
    const after = await thread.messages();
    expect(shown(messages)).toEqual(shown(after.slice(before)));
    return script(after);
  };
  return { ...thread, stream };
}

/** The same with a middleware that changes the result after `next()`. */
const ending = (change: Change<"agent">, steps: readonly Step[], options: Options = {}) =>
  streamed(steps, { ...options, middleware: [afterNext("agent", change)] });

const write =
  (fields: object): Change<"agent"> =>
  ({ result }) =>
    result && Object.assign(result, fields);

describe("a result set after next()", () => {
  it("includes changes that are written into the response", async () => {
    const thread = ending(write({ name: "bot" }), ["done"]);
    await thread.stream();
    expect((await thread.messages()).map(({ name }) => name)).toEqual([undefined, "bot"]);
  });

  it("is at the end of a fork from the past", async () => {
    const thread = ending(set({ result: "mine" }), ["one", "two", "three"]);
    await thread.stream("first");
    const { config: past } = await thread.state();
    await thread.stream("second");
    const lines = await thread.run("third", past);
    expect(lines).toEqual(["human: first", "ai: mine", "human: third", "ai: mine"]);
    expect(await thread.lines()).toEqual(lines);
  });

  const fast = () => calls(["fast", {}, "a"]);
  const CALLED = ["human: go", "ai> fast"];
  it.each<[title: string, change: Change<"agent">, options: Options, lines: string[]]>([
    [
      "comes after the result of the tool that ended the run",
      set({ result: "mine" }),
      { toolChoice: "required" },
      [...CALLED, "tool: fast done -", "ai: mine"],
    ],
    [
      "includes changes that are written into such a tool result",
      write({ content: "[hidden]" }),
      { toolChoice: "required" },
      [...CALLED, "tool: [hidden]"],
    ],
    [
      "leaves calls open that the caller will run",
      write({ content: "Please look." }),
      { autoInvoke: false },
      CALLED,
    ],
  ])("%s", async (_title, change, options, lines) => {
    expect(await ending(change, [fast()], options).stream()).toEqual(lines);
  });
});

describe("where a run waits for a human", () => {
  it("a text ends the wait: the call is closed, and the thread goes on", async () => {
    let mine: string | undefined = "mine";
    const thread = ending((context) => mine && set({ result: mine })(context), [calls(["ask"]), "done"]);
    const closed = expect.stringContaining("tool! Tool call ask");
    expect(await thread.stream()).toEqual(["human: go", "ai> ask", closed, "ai: mine"]);
    expect((await thread.state()).tasks).toEqual([]);
    mine = undefined;
    expect((await thread.stream("again")).slice(4)).toEqual(["human: again", "ai: done"]);
  });

  it("the calls that wait cannot be changed: the caller is told, and the wait goes on", async () => {
    const changes = [write({ content: "changed" })];
    const thread = ending((context) => changes.pop()?.(context), [calls(["ask"]), "done"]);
    await expect(thread.invoke()).rejects.toThrow("waits for a human");
    const lines = await thread.run(new Command({ resume: "yes" }));
    expect(lines).toEqual(["human: go", "ai> ask", "tool: answered yes", "ai: done"]);
  });
});

describe("what a run has come to", () => {
  /** The last message of each run as its middleware finds it, which must be the last of the thread. */
  function watched(steps: readonly Step[], options: Options) {
    const results: (string | undefined)[] = [];
    const thread = ending(({ result }) => results.push(...script(result ? [result] : [])), steps, options);
    const run = async (input?: unknown): Promise<string | undefined> => {
      await thread.invoke(input);
      expect(results.at(-1)).toBe(script(await thread.messages()).at(-1));
      return results.at(-1);
    };
    return { ...thread, results, run };
  }
  const two = () => calls(["fast", {}, "a"], ["fast", {}, "b"]);

  it.each([
    { toolChoice: "auto", steps: ["done"], last: "ai: done" },
    { toolChoice: "required", steps: [], last: "tool: fast done -" },
  ] as const)("is its last message also after parallel tools, with $toolChoice", async (row) => {
    expect(await watched([two(), ...row.steps], { toolChoice: row.toolChoice }).run()).toBe(row.last);
  });

  it("is what it waits with, each time that it waits", async () => {
    const { run, results } = watched([two(), "done"], {
      requireApproval: ["fast"],
      acceptUnnamedDecisions: true,
    });
    const reject = () => new Command({ resume: { decisions: [{ type: "reject", message: "no" }] } });
    expect(await run()).toBe("ai> fast fast");
    expect(await run(reject())).toMatch(/^tool/);
    expect(await run(reject())).toBe("ai: done");
    expect(results).toHaveLength(3);
  });

  it("is the result that it recovers, where it ends with that", async () => {
    const { invoke, run } = watched([calls(["ask", {}, "a"], ["fast", {}, "b"])], {});
    await invoke();
    expect(await run(new Command({ update: { messages: [] } }))).toBe("tool: fast done -");
  });
});

describe("an answer given without next()", () => {
  it("comes after the input, and closes the calls that an earlier run left open", async () => {
    let answers = false;
    const answer = agentMiddleware(async (context, next) => {
      if (answers) context.result = "mine";
      else await next();
    });
    const { stream, runs } = streamed([calls(["ask"])], { middleware: [answer] });
    await stream();
    answers = true;
    const lines = await stream("again");
    const closed = expect.stringMatching(/^tool!/);
    expect(lines).toEqual(["human: go", "ai> ask", closed, "human: again", "ai: mine"]);
    expect(runs).toEqual([]);
  });

  it("has no tool call that is run: each gets a result", async () => {
    const give = insteadOfNext("agent", set({ result: calls(["fast"], ["fast"]) }));
    const { stream, runs } = streamed([], { middleware: [give] });
    const refused = "tool! Not run: the run was ended before this call.";
    expect(await stream()).toEqual(["human: go", "ai> fast fast", refused, refused]);
    expect(runs).toEqual([]);
  });

  it("is also written when a run was resumed", async () => {
    const { stream } = streamed([], { middleware: [insteadOfNext("agent", set({ result: "mine" }))] });
    await stream();
    expect(await stream(null)).toEqual(["human: go", "ai: mine", "ai: mine"]);
  });
});

/** An agent whose middleware adds one mark to the input and another to the response. */
function marked(options: Options = {}) {
  const lines: string[] = [];
  const probe = createProbe();
  const mark = agentMiddleware(async function mark(context, next) {
    lines.push(context.stream ? "streamed" : "invoked");
    const [message] = context.messages;
    if (message !== undefined) message.content = `${message.text}?`;
    await next();
    context.result = `${context.result?.text}!`;
  });
  const graph = createAgentGraph({
    model: new FunctionModel(({ messages }) => (messages.at(-1)?.type === "tool" ? "done" : calls(["fast"]))),
    tools: [probe.fast],
    middleware: [mark],
    ...options,
  });
  return { graph, lines, probe };
}

type Graph = ReturnType<typeof marked>["graph"];
const ANSWER = ["human: go?", "ai> fast", "tool: fast done -", "ai: done!"];
const ALL_MODES = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"] as const;

const streamOf = (graph: Graph, options: object) =>
  allOf<unknown[]>(graph.stream(user("go"), { ...config, ...options }));
const valuesIn = (chunks: unknown[][]) => chunks.findLast(([mode]) => mode === "values")?.at(1);

/** Each returns the last values that it was given. */
const WAYS: Readonly<Record<string, (graph: Graph) => Promise<unknown>>> = {
  invoke: (graph) => graph.invoke(user("go"), config),
  batch: async (graph) => (await graph.batch([user("go")], [config]))[0],
  "stream of values": async (graph) => (await streamOf(graph, { streamMode: "values" })).at(-1),
  "stream in all modes": async (graph) => valuesIn(await streamOf(graph, { streamMode: [...ALL_MODES] })),
  "stream with subgraphs": async (graph) => {
    const chunks = await streamOf(graph, { streamMode: ["values", "updates"], subgraphs: true });
    expect(chunks.filter(([namespace]) => (namespace as string[]).length > 0)).toEqual([]);
    return valuesIn(chunks.map(([, ...chunk]) => chunk));
  },
  "stream of server-sent events": async (graph) => {
    const bytes = await streamOf(graph, { streamMode: "values", encoding: "text/event-stream" });
    const text = bytes.map((piece) => new TextDecoder().decode(piece as never)).join("");
    const data = text.split("\n").findLast((line) => line.startsWith("data: ")) ?? "";
    const { messages } = JSON.parse(data.slice("data: ".length));
    return { messages };
  },
  "streamEvents v2": async (graph) => {
    const events = await allOf<{ event: string; data: { output: unknown } }>(
      graph.streamEvents(user("go"), { ...config, version: "v2" }),
    );
    return events.findLast(({ event }) => event === "on_chain_end")?.data.output;
  },
  "streamEvents v3": async (graph) =>
    (await graph.streamEvents(user("go"), { ...config, version: "v3" })).output,
};

describe("an agent middleware goes around", () => {
  const checkpointers = [
    ["with a checkpointer", () => new MemorySaver()],
    ["without", () => undefined],
  ] as const;
  const rows = Object.keys(WAYS).flatMap((way) =>
    checkpointers.map(([title, make]) => [way, title, make] as const),
  );

  it.each(rows)("%s, %s", async (way, _title, make) => {
    const checkpointer = make();
    const { graph, lines, probe } = marked({ checkpointer });
    expect(pairedScript(await WAYS[way]?.(graph))).toEqual(ANSWER);
    expect(lines).toEqual([way === "invoke" || way === "batch" ? "invoked" : "streamed"]);
    expect(probe.runs).toHaveLength(1);
    if (checkpointer !== undefined)
      expect(pairedScript((await graph.getState(config)).values)).toEqual(ANSWER);
  });

  it.each(checkpointers)("a run as a node of another graph, %s", async (_title, make) => {
    const checkpointer = make();
    const graph = parentOf(marked().graph, checkpointer && { checkpointer });
    const run = (id: string) => graph.invoke({ messages: [new HumanMessage({ id, content: "go" })] }, config);
    expect(pairedScript(await run("h"))).toEqual(ANSWER);
    if (checkpointer === undefined) return;
    expect(script(messagesOf(await run("i"))).filter((line) => line === "ai: done!")).toHaveLength(2);
  });

  it("a run within a tool of another agent, each with its own", async () => {
    const { graph: inner, lines: innerLines } = marked();
    const fast = makeTool("fast", async () => (await inner.invoke(user("go"))).messages.at(-1)?.text);
    const { graph, lines } = marked({ tools: [fast], checkpointer: new MemorySaver() });
    expect(pairedScript(await graph.invoke(user("go"), config))[2]).toBe("tool: done!");
    expect([lines, innerLines]).toEqual([["invoked"], ["invoked"]]);
  });

  it("no run that was aborted before it has begun", async () => {
    const { graph, lines } = marked({ checkpointer: new MemorySaver() });
    const aborted = graph.invoke(user("go"), { ...config, signal: AbortSignal.abort() });
    await expect(aborted).rejects.toThrow(/abort/i);
    expect(lines).toEqual([]);
  });
});

it.each([
  ["before", [], ["done"]],
  ["after", ["human: go", "ai: done"], ["done", "done"]],
] as const)("A middleware is not waited for if its run is aborted %s next()", async (place, kept, steps) => {
  const controller = new AbortController();
  const wait = agentMiddleware(async function wait(context, next) {
    if (context.messages.at(-1)?.text === "hello") return next();
    if (place === "after") await next();
    setTimeout(() => controller.abort(), 20);
    await delay(60_000, undefined, { ref: false });
  });
  const thread = agentThread(steps, { middleware: [wait] });
  await expect(thread.invoke("go", { signal: controller.signal })).rejects.toThrow(/abort/i);
  expect(await thread.run("hello")).toEqual([...kept, "human: hello", "ai: done"]);
});

it("A middleware gets the reason of an abort from next(), and not the error that the graph makes of it", async () => {
  const controller = new AbortController();
  const reason = new Error("The user has pressed stop.");
  let thrown: unknown;
  const watch = agentMiddleware(async function watch(_context, next) {
    await next().catch((error: unknown) => {
      thrown = error;
    });
  });
  const stop = makeTool("stop", async () => controller.abort(reason));
  const thread = agentThread([calls(["stop"])], { tools: [stop], middleware: [watch] });
  await expect(thread.invoke("go", { signal: controller.signal })).rejects.toThrow();
  await expect.poll(() => thrown).toBe(reason);
});

describe("a reader that leaves early", () => {
  it.each([0, 20])("lets no run begin: the middleware calls next() %i ms later", async (milliseconds) => {
    const ended: unknown[] = [];
    const late = agentMiddleware(async function late({ writer }, next) {
      writer("waiting");
      await delay(milliseconds);
      await next().catch((error: Error) => {
        ended.push(error.message);
        throw error;
      });
    });
    const { graph, state } = agentThread([], { middleware: [late] });
    for await (const _ of await graph.stream(user("go"), { ...config, streamMode: "custom" })) break;
    await expect.poll(() => ended).toHaveLength(1);
    expect((await state()).values).not.toHaveProperty("messages.0");
  });

  it("ends the run; the middleware sees it, and the thread stays usable", async () => {
    let ended: unknown;
    const watch = agentMiddleware(async function watch({ signal }, next) {
      await next().finally(() => {
        ended = signal?.aborted;
      });
    });
    const { heedful } = createProbe();
    const thread = agentThread([calls(["heedful"]), "done"], { tools: [heedful], middleware: [watch] });
    const client = new PlainClient();
    for await (const [message] of await thread.graph.stream(user("go"), {
      ...config,
      streamMode: "messages",
    })) {
      client.add(message);
      break;
    }
    await expect.poll(() => ended).toBe(true);
    expect(client.messages).toHaveLength(1);
    expect((await thread.run("hello")).slice(-2)).toEqual(["human: hello", "ai: done"]);
  });
});
