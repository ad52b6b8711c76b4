/** Agent graphs as runnables, values that a caller can easily get wrong, and what was bound to a graph before its run. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver, StateSchema } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentMiddleware,
  createAgentGraph,
  PairedMessagesValue,
  readFullHistory,
  restoreCovered,
  toModelInput,
} from "../../../src/index.js";
import { agentThread, type ThreadOptions } from "../../support/agent-thread.js";
import { approvalThread, asInput } from "../../support/approval-graph.js";
import { allOf, turns } from "../../support/async.js";
import { lines } from "../../support/lines.js";
import { calls } from "../../support/models.js";
import { parentOf } from "../../support/plain-graph.js";
import { scripted } from "../../support/scripted-model.js";
import { abortRun } from "../../support/test-tools.js";
import { inThread, pairedScript, script, user } from "../../support/thread.js";
import { type createProbe, makeTool } from "../../support/tools.js";

const config = inThread("1");
const ANSWER = "human: call fast | ai> fast | tool: fast done - | ai: fast returned: fast done -";
const input = () => user("call fast");
const around = [agentMiddleware((_context, next) => next())];

const createThread = (options: ThreadOptions = {}) =>
  agentThread([], { model: "offline:", tools: ({ fast, heedful }) => [fast, heedful], ...options });

type Runs = { invoke(input: never, config: object): Promise<unknown> };

/** Cancels a run in the middle of a batch, and sends the next message. */
async function cancelled(graph: Runs, probe: ReturnType<typeof createProbe>) {
  const send = (text: string, more: object = {}) => graph.invoke(user(text) as never, { ...config, ...more });
  await abortRun(
    (signal) => send("call heedful and call fast", { signal }),
    async () => {
      await probe.hasBegun(2);
      await turns();
    },
  );
  return send("hello");
}

describe("an agent graph is run through", () => {
  it("withConfig, even twice, and keeps its checks and its limits", async () => {
    const copy = createThread()
      .graph.withConfig({ tags: ["a"] })
      .withConfig({ recursionLimit: 3 });
    expect(pairedScript(await copy.invoke(user("call fast, then call fast"), config))).toHaveLength(2);
    const refused = copy.invoke(input(), { ...config, context: { maxIteration: 1 } as never });
    await expect(refused).rejects.toThrow("`maxIteration`");
  });

  it("withConfig, whose context holds unless the run has its own", async () => {
    const model = scripted("no", calls(["fast"]), "yes");
    const { graph } = createThread({ model, checkpointer: undefined });
    const bound = graph.withConfig({ context: { toolChoice: "none" } });
    expect((await bound.invoke(user("go"))).messages).toHaveLength(2);
    expect((await bound.invoke(user("go"), { context: { toolChoice: "auto" } })).messages).toHaveLength(4);
    const misspelt = graph.withConfig({ context: { maxIteration: 1 } as never });
    await expect(misspelt.invoke(user("go"))).rejects.toThrow("Did you mean `maxIterations`?");
  });

  it("withConfig, and repairs what a cancelled run left", async () => {
    const { graph, probe } = createThread();
    const after = await cancelled(graph.withConfig({ tags: ["a"] }) as Runs, probe);
    expect(pairedScript(after)).toContain("tool: fast done -");
  });

  it("pipe", async () => {
    const last = createThread().graph.pipe(
      ({ messages }: { messages: BaseMessage[] }) => messages.at(-1)?.text,
    );
    expect(await last.invoke(input(), config)).toBe("fast returned: fast done -");
  });
});

describe("an agent graph as a node of another graph", () => {
  function nest(compiled: { checkpointer?: MemorySaver } = {}) {
    const { graph: child, probe } = createThread({ checkpointer: undefined });
    return { probe, graph: parentOf(child, compiled, new StateSchema({ messages: PairedMessagesValue })) };
  }

  it("streams from within", async () => {
    const updates = nest().graph.stream(input(), { streamMode: "updates", subgraphs: true });
    const nodes = (await allOf<[unknown, object]>(updates)).flatMap(([, update]) => Object.keys(update));
    expect(nodes).toEqual(["model", "tools", "model", "child"]);
  });

  it("leaves the history of the parent graph paired when it is aborted", async () => {
    const { graph, probe } = nest({ checkpointer: new MemorySaver() });
    pairedScript(await cancelled(graph as Runs, probe));
    expect(pairedScript(await graph.invoke(input(), config)).slice(-4)).toEqual(lines(ANSWER));
  });
});

describe("an input that is refused by name, and the thread stays as it was:", () => {
  it.each<[input: unknown, hint?: string]>([
    ["hi"],
    [5],
    [[]],
    [[["user", "hi"]]],
    [{ message: "hi" }, " Did you mean `messages`?"],
    [{ Messages: [] }, " Did you mean `messages`?"],
    [{ input: "hi" }],
    [{ messages: undefined }],
    [{}],
  ])("%j", async (given, hint = "") => {
    for (const middleware of [[], around]) {
      const { graph } = createThread({ middleware });
      await graph.invoke(user("hello"), config);
      const before = await graph.getState(config);
      const message = `Expected \`input\` to be an object with \`messages\`, a \`Command\` or null, got \`${JSON.stringify(given)}\`.${hint}`;
      const refused = { name: "InvalidMessageError", message };
      await expect(graph.invoke(given as never, config)).rejects.toMatchObject(refused);
      await expect(graph.batch([given as never], [config])).rejects.toMatchObject(refused);
      expect(await graph.getState(config)).toEqual(before);
    }
  });
});

describe("an input without messages", () => {
  it("continues the thread if it is an empty list, null or nothing", async () => {
    const { graph } = createThread();
    for (const given of [input(), { messages: [] }, null, undefined])
      expect(pairedScript(await graph.invoke(given as never, config))).toEqual(lines(ANSWER));
  });

  it("is taken from a parent graph whose state has none yet", async () => {
    const state = z.object({ messages: z.array(z.any()).optional(), plan: z.string() });
    const parent = parentOf(createAgentGraph({ model: "offline:" }), {}, state);
    expect(await parent.invoke({ plan: "p" } as never)).toEqual({ plan: "p" });
  });
});

describe("an update that is not an object with messages is refused, and the question still waits:", () => {
  it.each([
    [[{ role: "user", content: "x" }], "Expected `update` to be an object with `messages`"],
    [5, "Expected `update` to be an object with `messages`"],
    ["text", "Expected `update` to be an object with `messages`"],
    [{ message: [] }, "Did you mean `messages`?"],
  ])("%j", async (update, message) => {
    const thread = approvalThread([calls(["risky", { label: "1" }])]);
    await thread.say("go");
    await expect(thread.run(asInput({ update } as never))).rejects.toThrow(message);
    expect(await thread.waiting()).toBe(1);
  });

  it("also in updateState", async () => {
    const { graph } = createThread();
    await expect(graph.updateState(config, { message: [] })).rejects.toThrow("Did you mean `messages`?");
  });
});

describe("readFullHistory and restoreCovered", () => {
  const graph = createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });

  it.each([
    ["the values of a thread", { messages: [] }, config, "Expected `source` to be a graph"],
    ["nothing", undefined, config, "Expected `source` to be a graph"],
    [
      "a config without a thread",
      graph,
      {},
      "Expected `config` to be a config with `configurable.thread_id`",
    ],
    ["no config", graph, undefined, "Expected `config` to be a config with `configurable.thread_id`"],
  ])("refuse %s by name", async (_what, from, given, message) => {
    for (const read of [readFullHistory, restoreCovered])
      await expect(read(from as never, given as never)).rejects.toThrow(message);
  });

  it("find no messages in a thread that does not exist, and nothing to restore", async () => {
    for (const from of [graph, new MemorySaver()])
      for (const read of [readFullHistory, restoreCovered])
        expect(await read(from, inThread("nobody"))).toEqual([]);
  });
});

it("A tool's error without a message tells the model its code", async () => {
  const refused = Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" });
  const tools = [makeTool("down", () => Promise.reject(refused))];
  const model = scripted(calls(["down"]), "end");
  const { messages } = await createAgentGraph({ model, tools, includeDetailedErrors: true }).invoke(
    user("go"),
  );
  expect(messages.at(2)?.text).toBe("Error: `down` failed: ECONNREFUSED");
});

it("A message id that is not a string breaks no model input", () => {
  const message = Object.assign(new AIMessage("hello"), { id: 5 });
  expect(toModelInput([message], { dialect: "openai-responses" }).at(0)?.text).toBe("hello");
});

describe("a run that its caller halts before the tools", () => {
  const halted = async () => {
    const thread = createThread();
    await thread.graph.invoke(user("call fast and call fast"), { ...config, interruptBefore: ["tools"] });
    expect(thread.probe.runs).toEqual([]);
    expect(script(await thread.messages())).toEqual(lines("human: call fast and call fast | ai> fast fast"));
    return thread;
  };

  it("goes on with a null input", async () => {
    const { graph, probe } = await halted();
    expect(pairedScript(await graph.invoke(null, config))).toHaveLength(5);
    expect(probe.runs).toHaveLength(2);
  });

  it("takes no results from the caller instead, because the calls are the tools' to answer", async () => {
    const { graph, probe, messages: read } = await halted();
    const [, calling] = await read();
    const ids = (Reflect.get(calling ?? {}, "tool_calls") as { id: string }[]).map(({ id }) => id);
    const messages = ids.map((id) => ({ role: "tool", content: `given ${id}`, tool_call_id: id }));
    const events = await allOf(graph.stream({ messages }, { ...config, streamMode: "custom" }));
    expect(events).toMatchObject([
      ...ids.map((callId) => ({ type: "result-refused", tool: "fast", callId })),
      ...ids.map((callId) => ({ type: "call-closed", tool: "fast", callId, cause: "not-started" })),
      expect.objectContaining({ type: "run-end" }),
    ]);
    const closed = "tool! Tool call fast …: its run ended before it was started…";
    expect(pairedScript(await graph.invoke(user("never mind"), config)).slice(1, 4)).toEqual(
      lines("ai> fast fast", closed, closed),
    );
    expect(probe.runs).toEqual([]);
  });
});

describe("maxConcurrency of a run", () => {
  it.each([
    [undefined, 4],
    [2, 2],
    [1, 1],
  ])("%j: at most %j calls of a batch at once", async (maxConcurrency, expected) => {
    let running = 0;
    let most = 0;
    const slow = makeTool("slow", async () => {
      running += 1;
      most = Math.max(most, running);
      await turns();
      running -= 1;
      return "done";
    });
    const model = scripted(calls(["slow"], ["slow"], ["slow"], ["slow"]), "the end");
    const { graph } = createThread({ model, tools: [slow], checkpointer: undefined });
    const limit = maxConcurrency === undefined ? {} : { maxConcurrency };
    expect(pairedScript(await graph.invoke(user("go"), limit))).toHaveLength(7);
    expect(most).toBe(expected);
  });

  it.each([0, -1, 1.5, "2"])("refuses %j", async (maxConcurrency) => {
    const run = createThread().graph.invoke(user("go"), { maxConcurrency: maxConcurrency as number });
    await expect(run).rejects.toThrow("`maxConcurrency`");
  });

  it("begins no call when the run has been aborted", async () => {
    const model = scripted(calls(["heedful"], ["heedful"], ["heedful"]));
    const { graph, probe } = createThread({ model, checkpointer: undefined });
    await abortRun(
      (signal) => graph.invoke(user("go"), { maxConcurrency: 1, signal }),
      () => probe.hasBegun(1),
    );
    await turns();
    expect(probe.runs).toHaveLength(1);
  });
});

it.each(["invoke", "stream"] as const)("a signal that is not one: %s refuses it by name", async (method) => {
  const run = createThread().graph[method](user("go"), { signal: "x" as never });
  await expect(run).rejects.toThrow('Expected `signal` to be an AbortSignal, got `"x"`.');
});
