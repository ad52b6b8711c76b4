/** A result that an agent middleware sets or changes is in the thread and on the stream. */

import { setTimeout as delay } from "node:timers/promises";
import { type AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import {
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentContext,
  type AgentGraphOptions,
  agentMiddleware,
  createAgentGraph,
  type Next,
} from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { PlainClient, shown } from "../../support/stream-faults.js";
import { messagesOf, pairedScript, script, user } from "../../support/thread.js";

type Handle = (context: AgentContext, next: Next) => Promise<void>;
const config = { configurable: { thread_id: "1" } };

const ask = makeTool("ask", async () => `answered ${interrupt("may I?")}`);

function agent(handle: Handle, steps: readonly Step[], options: Partial<AgentGraphOptions> = {}) {
  const probe = createProbe();
  const graph = createAgentGraph({
    model: scripted(...steps),
    tools: [probe.fast, ask],
    middleware: [agentMiddleware(handle, { name: "mine" })],
    checkpointer: new MemorySaver(),
    ...options,
  });
  /** Streams a run; what its client has in the end must be what it added to the thread. */
  const stream = async (input: unknown, runConfig: object = config): Promise<string[]> => {
    const before = messagesOf((await graph.getState(config)).values).length;
    const client = new PlainClient();
    for await (const [message] of await graph.stream(input as never, {
      ...runConfig,
      streamMode: "messages",
    }))
      client.add(message);
    const messages = messagesOf((await graph.getState(config)).values);
    if (runConfig === config) expect(shown(client.messages)).toEqual(shown(messages.slice(before)));
    return script(messages);
  };
  return { graph, probe, stream };
}

const say = (text: string): Handle =>
  async function say(context, next) {
    await next();
    context.result = text;
  };

describe("a result set after next()", () => {
  it("includes changes that are written into the response", async () => {
    const { stream, graph } = agent(
      async (context, next) => {
        await next();
        if (context.result !== undefined) context.result.name = "bot";
      },
      ["done"],
    );
    await stream(user("go"));
    expect(messagesOf((await graph.getState(config)).values).map(({ name }) => name)).toEqual([
      undefined,
      "bot",
    ]);
  });

  it("is at the end of a fork from the past", async () => {
    const { graph, stream } = agent(say("mine"), ["one", "two", "three"]);
    await stream(user("first"));
    const { config: past } = await graph.getState(config);
    await stream(user("second"));
    const checkpoint_id = past.configurable?.["checkpoint_id"];
    const lines = await stream(user("third"), { configurable: { thread_id: "1", checkpoint_id } });
    expect(lines).toEqual(["human: first", "ai: mine", "human: third", "ai: mine"]);
  });

  it("comes after the result of the tool that ended the run", async () => {
    const { stream } = agent(say("mine"), [calls(["fast"])], { toolChoice: "required" });
    expect(await stream(user("go"))).toEqual(["human: go", "ai> fast", "tool: fast done -", "ai: mine"]);
  });

  it("includes changes that are written into such a tool result", async () => {
    const hide: Handle = async (context, next) => {
      await next();
      if (context.result !== undefined) context.result.content = "[hidden]";
    };
    const { stream, graph } = agent(hide, [calls(["fast"])], { toolChoice: "required" });
    expect(await stream(user("go"))).toEqual(["human: go", "ai> fast", "tool: [hidden]"]);
    expect(pairedScript((await graph.getState(config)).values)).toHaveLength(3);
  });

  it("leaves calls open that the caller will run", async () => {
    const { stream } = agent(
      async (context, next) => {
        await next();
        if (context.result !== undefined) context.result.content = "Please look.";
      },
      [calls(["fast", {}, "a"])],
      { autoInvoke: false },
    );
    expect(await stream(user("go"))).toEqual(["human: go", "ai> fast"]);
  });
});

describe("where a run waits for a human", () => {
  it("a text ends the wait: the call is closed, and the thread goes on", async () => {
    let mine: string | undefined = "mine";
    const { graph, stream } = agent(
      async (context, next) => {
        await next();
        if (mine !== undefined) context.result = mine;
      },
      [calls(["ask"]), "done"],
    );
    expect(await stream(user("go"))).toEqual([
      "human: go",
      "ai> ask",
      expect.stringContaining("tool! Tool call ask"),
      "ai: mine",
    ]);
    expect((await graph.getState(config)).tasks).toEqual([]);
    mine = undefined;
    expect((await stream(user("again"))).slice(4)).toEqual(["human: again", "ai: done"]);
  });

  it("the calls that wait cannot be changed: the caller is told, and the wait goes on", async () => {
    let isFirst = true;
    const { graph } = agent(
      async (context, next) => {
        await next();
        if (isFirst && context.result !== undefined) context.result.content = "changed";
        isFirst = false;
      },
      [calls(["ask"]), "done"],
    );
    await expect(graph.invoke(user("go"), config)).rejects.toThrow("waits for a human");
    const lines = pairedScript(await graph.invoke(new Command({ resume: "yes" }), config));
    expect(lines).toEqual(["human: go", "ai> ask", "tool: answered yes", "ai: done"]);
  });
});

describe("what a run has come to", () => {
  /** The last message of each run as its middleware finds it, and what the thread has then. */
  function watched(steps: readonly Step[], options: Partial<AgentGraphOptions>) {
    const results: (string | undefined)[] = [];
    const { graph } = agent(
      async (context, next) => {
        await next();
        results.push(...script(context.result === undefined ? [] : [context.result]));
      },
      steps,
      options,
    );
    const run = async (input: unknown): Promise<string | undefined> => {
      await graph.invoke(input as never, config);
      const lines = script(messagesOf((await graph.getState(config)).values));
      expect(results.at(-1)).toBe(lines.at(-1));
      return results.at(-1);
    };
    return { graph, results, run };
  }

  it.each([
    { toolChoice: "auto", steps: ["done"], last: "ai: done" },
    { toolChoice: "required", steps: [], last: "tool: fast done -" },
  ] as const)("is its last message also after parallel tools, with $toolChoice", async (row) => {
    const steps = [calls(["fast", {}, "a"], ["fast", {}, "b"]), ...row.steps];
    expect(await watched(steps, { toolChoice: row.toolChoice }).run(user("go"))).toBe(row.last);
  });

  it("is what it waits with, each time that it waits", async () => {
    const { run, results } = watched([calls(["fast", {}, "a"], ["fast", {}, "b"]), "done"], {
      requireApproval: ["fast"],
    });
    expect(await run(user("go"))).toBe("ai> fast fast");
    const reject = { type: "reject", message: "no" };
    expect(await run(new Command({ resume: { decisions: [reject] } }))).toMatch(/^tool/);
    expect(await run(new Command({ resume: { decisions: [reject] } }))).toBe("ai: done");
    expect(results).toHaveLength(3);
  });

  it("is the result that it recovers, where it ends with that", async () => {
    const { graph, run } = watched([calls(["ask", {}, "a"], ["fast", {}, "b"])], {});
    await graph.invoke(user("go"), config);
    expect(await run(new Command({ update: { messages: [] } }))).toBe("tool: fast done -");
  });
});

describe("an answer given without next()", () => {
  const given = (result: string | AIMessage): Handle =>
    async function give(context) {
      context.result = result;
    };

  it("comes after the input, and closes the calls that an earlier run left open", async () => {
    let answers = false;
    const { stream, probe } = agent(
      async (context, next) => {
        if (answers) context.result = "mine";
        else await next();
      },
      [calls(["ask"])],
    );
    await stream(user("go"));
    answers = true;
    const lines = await stream(user("again"));
    expect(lines.filter((line) => !line.startsWith("tool!"))).toEqual([
      "human: go",
      "ai> ask",
      "human: again",
      "ai: mine",
    ]);
    expect(lines).toHaveLength(5);
    expect(probe.runs).toEqual([]);
  });

  it("has no tool call that is run: each gets a result", async () => {
    const { stream, probe } = agent(given(calls(["fast"], ["fast"])), []);
    const refused = "tool! Not run: the run was ended before this call.";
    expect(await stream(user("go"))).toEqual(["human: go", "ai> fast fast", refused, refused]);
    expect(probe.runs).toEqual([]);
  });

  it("is also written when a run was resumed", async () => {
    const { stream } = agent(given("mine"), []);
    await stream(user("go"));
    expect(await stream(null)).toEqual(["human: go", "ai: mine", "ai: mine"]);
  });
});

// Agent middleware around every kind of run.

/** An agent whose middleware adds one mark to the input and another to the response. */
function marked(options: Partial<AgentGraphOptions> = {}) {
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

/** Each returns the last values that it was given. */
const WAYS: Readonly<Record<string, (graph: Graph) => Promise<unknown>>> = {
  invoke: (graph) => graph.invoke(user("go"), config),
  batch: async (graph) => (await graph.batch([user("go")], [config]))[0],
  "stream of values": async (graph) => {
    let last: unknown;
    for await (const values of await graph.stream(user("go"), { ...config, streamMode: "values" }))
      last = values;
    return last;
  },
  "stream in all modes": async (graph) => {
    let last: unknown;
    const options = { ...config, streamMode: [...ALL_MODES] };
    for await (const [mode, data] of await graph.stream(user("go"), options))
      if (mode === "values") last = data;
    return last;
  },
  "stream with subgraphs": async (graph) => {
    let last: unknown;
    const options = {
      ...config,
      streamMode: ["values", "updates"] as ("values" | "updates")[],
      subgraphs: true as const,
    };
    for await (const [namespace, mode, data] of await graph.stream(user("go"), options)) {
      expect(namespace).toEqual([]);
      if (mode === "values") last = data;
    }
    return last;
  },
  "stream of server-sent events": async (graph) => {
    let text = "";
    const options = { ...config, streamMode: "values" as const, encoding: "text/event-stream" as const };
    for await (const bytes of await graph.stream(user("go"), options))
      text += new TextDecoder().decode(bytes);
    const data = text.split("\n").findLast((line) => line.startsWith("data: ")) ?? "";
    const values = JSON.parse(data.slice("data: ".length));
    return { messages: values.messages };
  },
  "streamEvents v2": async (graph) => {
    let output: unknown;
    for await (const { event, data } of graph.streamEvents(user("go"), { ...config, version: "v2" }))
      if (event === "on_chain_end") output = data.output;
    return output;
  },
  "streamEvents v3": async (graph) => {
    const run = await graph.streamEvents(user("go"), { ...config, version: "v3" });
    return run.output;
  },
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
    const { graph: child } = marked();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("child", child)
      .addEdge(START, "child")
      .addEdge("child", END)
      .compile(checkpointer === undefined ? {} : { checkpointer });
    const input = { messages: [new HumanMessage({ id: "h", content: "go" })] };
    const values = await graph.invoke(input, config);
    expect(pairedScript(values)).toEqual(ANSWER);
    if (checkpointer === undefined) return;
    const again = await graph.invoke({ messages: [new HumanMessage("go")] }, config);
    expect(script(messagesOf(again)).filter((line) => line === "ai: done!")).toHaveLength(2);
  });

  it("a run within a tool of another agent, each with its own", async () => {
    const { graph: inner, lines: innerLines } = marked();
    const fast = makeTool("fast", async () => (await inner.invoke(user("go"))).messages.at(-1)?.text);
    const { graph, lines } = marked({ tools: [fast], checkpointer: new MemorySaver() });
    expect(pairedScript(await graph.invoke(user("go"), config))[2]).toBe("tool: done!");
    expect([lines, innerLines]).toEqual([["invoked"], ["invoked"]]);
  });

  it("a run that ends before it has begun, when it was aborted before", async () => {
    const { graph, lines } = marked({ checkpointer: new MemorySaver() });
    await expect(graph.invoke(user("go"), { ...config, signal: AbortSignal.abort() })).rejects.toThrow(
      /abort/i,
    );
    expect(lines).toEqual([]);
  });
});

describe("a waiting agent middleware", () => {
  /** Waits longer than a test runs. */
  function waiting(place: "before" | "after", controller: AbortController) {
    return createAgentGraph({
      model: new FunctionModel(() => "done"),
      checkpointer: new MemorySaver(),
      middleware: [
        agentMiddleware(async function wait(context, next) {
          if (context.messages.at(-1)?.text === "hello") return next();
          if (place === "after") await next();
          setTimeout(() => controller.abort(), 20);
          await delay(60_000, undefined, { ref: false });
          return next();
        }),
      ],
    });
  }

  it.each([
    ["before", []],
    ["after", ["human: go", "ai: done"]],
  ] as const)("is not waited for when its run is aborted %s next()", async (place, kept) => {
    const controller = new AbortController();
    const graph = waiting(place, controller);
    const run = graph.invoke(user("go"), { ...config, signal: controller.signal });
    await expect(run).rejects.toThrow(/abort/i);
    expect(pairedScript(await graph.invoke(user("hello"), config))).toEqual([
      ...kept,
      "human: hello",
      "ai: done",
    ]);
  });
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
    const checkpointer = new MemorySaver();
    const graph = createAgentGraph({ model: scripted(), middleware: [late], checkpointer });
    for await (const _ of await graph.stream(user("go"), { ...config, streamMode: "custom" })) break;
    await expect.poll(() => ended).toHaveLength(1);
    expect((await graph.getState(config)).values).not.toHaveProperty("messages.0");
  });

  it("ends the run; the middleware sees it, and the thread stays usable", async () => {
    let ended: unknown;
    const probe = createProbe();
    const watch = agentMiddleware(async function watch({ signal }, next) {
      await next().finally(() => {
        ended = signal?.aborted;
      });
    });
    const graph = createAgentGraph({
      model: new FunctionModel(({ messages }) =>
        messages.at(-1)?.text === "go" ? calls(["heedful"]) : "done",
      ),
      tools: [probe.heedful],
      middleware: [watch],
      checkpointer: new MemorySaver(),
    });
    const seen: BaseMessage[] = [];
    for await (const [message] of await graph.stream(user("go"), { ...config, streamMode: "messages" })) {
      seen.push(message);
      break;
    }
    await expect.poll(() => ended).toBe(true);
    expect(seen).toHaveLength(1);
    const lines = pairedScript(await graph.invoke(user("hello"), config));
    expect(lines.slice(-2)).toEqual(["human: hello", "ai: done"]);
  });
});
