/** What counts as a failure of a model, how long a switch lasts, and what else of a run it concerns. */

import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  InvalidModelError,
  InvalidSettingError,
  ModelError,
} from "../../../src/index.js";
import { lines } from "../../support/lines.js";
import { calls, FunctionModel } from "../../support/models.js";
import { openThread } from "../../support/open-thread.js";
import { WindowModel } from "../../support/overflow-refusals.js";
import { type ScriptedModel, scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const config = inThread("1");
const failure = (text: string, fields: object) => Object.assign(new Error(text), fields);
const down = () => failure("down", { status: 503 });

function agent(models: readonly ScriptedModel[], options: Partial<AgentGraphOptions> = {}) {
  const [model = scripted(), ...fallbackModels] = models;
  const tools = [createProbe().fast];
  return createAgentGraph({ model, fallbackModels, tools, checkpointer: new MemorySaver(), ...options });
}

describe("another model is asked", () => {
  const refused = failure("refused", { code: "ECONNREFUSED" });

  it.each<[title: string, error: Error]>([
    ["a status of 500 and more", down()],
    ["a status of 429", failure("slow down", { status: 429 })],
    ["a status of 401", failure("no key", { status: 401 })],
    ["an error without a status", new Error("blocked: SAFETY")],
    ["a connection that `fetch` cannot make", new TypeError("fetch failed", { cause: refused })],
  ])("after %s, and a chat middleware sees its response", async (_title, error) => {
    const seen: (string | undefined)[] = [];
    const watch = chatMiddleware(async (context, next) => {
      await next();
      seen.push(context.result?.text);
    });
    const graph = agent([scripted(error), scripted("here")], { middleware: [watch] });
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual(lines("human: go | ai: here"));
    expect(seen).toEqual(["here"]);
  });

  it("at once if a model that does not stream cannot be reached: its client has retried already", async () => {
    const unreachable = failure("Request timed out.", { name: "APIConnectionTimeoutError" });
    const whole = Object.assign(scripted(unreachable), { disableStreaming: true });
    const graph = agent([whole, scripted("here")]);
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual(lines("human: go | ai: here"));
  });

  it("if the input does not fit into the window of the first one, however it is shortened", async () => {
    const small = new WindowModel({ window: 5, family: "openai" });
    const large = new WindowModel({ window: 100_000, family: "openai" });
    const graph = createAgentGraph({ model: small, fallbackModels: [large] });
    expect(pairedScript(await graph.invoke(user("go ".repeat(50)))).at(-1)).toBe("ai: done");
    expect(large.requests[0]?.text).toBe("go ".repeat(50));
  });
});

describe("no other model is asked", () => {
  const untooled = () => Object.defineProperty(scripted(), "bindTools", { value: undefined });

  it.each<[title: string, first: () => ScriptedModel, says: string]>([
    [
      "after a fault of the program",
      () => scripted(new TypeError("Cannot read 'x' of undefined")),
      "Cannot read",
    ],
    [
      "after an error within the client's code",
      () => scripted(new Error("broken", { cause: new RangeError("stack") })),
      "broken",
    ],
    ["after an abort", () => scripted(failure("stopped", { name: "AbortError" })), "stopped"],
    ["if the model cannot be given tools", untooled, "`bindTools`"],
  ])("%s", async (_title, first, says) => {
    const graph = agent([first(), scripted()]);
    await expect(graph.invoke(user("go"), config)).rejects.toThrow(says);
  });

  it("after the run was aborted", async () => {
    const abort = new AbortController();
    const model = new FunctionModel(() => {
      abort.abort();
      return down();
    });
    const graph = agent([], { model, fallbackModels: [scripted()] });
    await expect(graph.invoke(user("go"), { ...config, signal: abort.signal })).rejects.toThrow(/abort/i);
  });

  it("if a chat middleware throws, or refuses the response", async () => {
    const refuse = chatMiddleware(async (_context, next) => {
      await next();
      throw new ModelError("I do not like it.");
    });
    const graph = agent([scripted("one"), scripted()], { middleware: [refuse] });
    await expect(graph.invoke(user("go"), config)).rejects.toThrow("I do not like it.");
  });
});

describe("the switch", () => {
  const ask = makeTool("ask", async () => `answered ${interrupt("may I?")}`);

  it("lasts over tool calls, an interrupt and another process, and ends with the turn", async () => {
    const checkpointer = new MemorySaver();
    const first = scripted(down(), "back again");
    const second = scripted(calls(["ask"]), "done");
    const build = () => agent([first, second], { tools: [ask], checkpointer });
    await build().invoke(user("go"), config);
    await build().invoke(new Command({ resume: "yes" }), config);
    expect(pairedScript(await build().invoke(user("and?"), config))).toEqual(
      lines("human: go | ai> ask | tool: answered yes | ai: done", "human: and? | ai: back again"),
    );
  });

  it("does not concern a run of the turn that names another model, and is not part of the state", async () => {
    const named = scripted("the named one");
    const graph = agent([scripted(down()), scripted(calls(["ask"]))], {
      models: ["offline:other"],
      createModel: async () => named,
      tools: [ask],
    });
    await graph.invoke(user("go"), config);
    const resumed = { ...config, context: { model: "offline:other" } };
    const values = await graph.invoke(new Command({ resume: "yes" }), resumed);
    expect(pairedScript(values).at(-1)).toBe("ai: the named one");
    expect(Object.keys((await graph.getState(config)).values)).toEqual(["messages"]);
  });

  it("begins again with the first model if all have failed", async () => {
    const graph = agent([scripted(down(), "one"), scripted(down())]);
    const failed = { code: "MODEL_FAILED", status: 503 };
    await expect(graph.invoke(user("go"), config)).rejects.toMatchObject(failed);
    expect(pairedScript(await graph.invoke(null, config))).toEqual(lines("human: go | ai: one"));
  });
});

describe("what clients see", () => {
  it("has the id of one response only, even if both models use the same", async () => {
    const chunks = (...texts: string[]) =>
      texts.map((content) => new AIMessageChunk({ content, id: "same" }));
    const broken = [...chunks("The first "), new AIMessageChunk({ content: "", id: "same" })];
    const model = new FunctionModel(() => down());
    model._streamResponseChunks = async function* () {
      for (const message of broken) yield { text: message.text, message } as never;
      throw down();
    };
    const thread = openThread(agent([], { model, fallbackModels: [scripted(chunks("The ", "second."))] }));
    const { parts, messages } = await thread.send("go");
    expect(messages.map(({ text }) => text)).toEqual(["The second."]);
    const removed = parts.filter(({ type }) => type === "remove").map(({ id }) => id);
    expect(removed).toEqual(["same"]);
    expect((await thread.read()).at(-1)?.id).not.toBe("same");
  });

  it("names the models, counts the tokens of both, and contains no key", async () => {
    const usage = (total: number) => ({ input_tokens: total - 1, output_tokens: 1, total_tokens: total });
    const paid = (content: string, total: number) =>
      Object.assign(new AIMessage(content), { usage_metadata: usage(total) });
    const [blank, whole] = [paid("", 10), paid("here", 5)];
    const failing = new FunctionModel(() => blank);
    const graph = agent([], {
      model: "offline:first",
      fallbackModels: [new FunctionModel(() => down()), "offline:third"],
      createModel: async (name) => (name === "offline:first" ? failing : new FunctionModel(() => whole)),
      maxStreamFallbackAttempts: 1,
    });
    const { events } = await openThread(graph).send("go");
    const empty = { type: "response-broken", reason: "empty" };
    const switched = (from: string, to: string, why: string) => ({
      type: "model-switched",
      from,
      to,
      reason: expect.stringContaining(why),
    });
    const total = expect.objectContaining({ input_tokens: 22, output_tokens: 3, total_tokens: 25 });
    expect(events).toMatchObject([
      empty,
      empty,
      switched("offline:first", "played", "empty"),
      switched("played", "offline:third", "503"),
      { type: "run-end", calls: 0, results: 0, usedFallback: true, usage: total },
    ]);
  });
});

it.each([undefined, new FunctionModel(() => "own summary")])(
  "summaries are written by the model that the turn has come to, or by the summary model",
  async (summaryModel) => {
    const second = new FunctionModel(({ messages, text }) => {
      if (text.includes("fast done") && messages.length === 2) return "the second's summary";
      return messages.filter(({ type }) => type === "tool").length < 3 && !text.startsWith("done")
        ? calls(["fast", { label: "long ".repeat(3_000) }])
        : "the end";
    });
    const graph = agent([], {
      model: new FunctionModel(down),
      fallbackModels: [second],
      summaryModel,
      maxIterations: 3,
      maxTokensBeforeSummary: 9_000,
      messagesToKeep: 1,
    });
    const { events, error } = await openThread(graph).send("go");
    expect(error).toBeUndefined();
    expect(events.map(({ type }) => type)).toContain("summary-made");
    expect(events.filter(({ type }) => type === "model-switched")).toHaveLength(1);
    if (summaryModel !== undefined) expect(summaryModel.requests.length).toBeGreaterThan(0);
  },
);

it.each([
  [["gpt-5"], InvalidModelError, "gpt-5"],
  [["xai:grok-4"], InvalidModelError, "set `XAI_API_KEY`"],
  [[new FunctionModel(down), 5], InvalidSettingError, "Expected `fallbackModels[1]` to be a chat model"],
  ["offline:", InvalidSettingError, "Expected `fallbackModels` to be a list of models"],
])("%j are refused as fallback models when the graph is built", (fallbackModels, type, says) => {
  const build = () => createAgentGraph({ model: "offline:", fallbackModels: fallbackModels as never });
  expect(build).toThrow(type);
  expect(build).toThrow(says);
});
