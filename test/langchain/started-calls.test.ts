/** A call that was started is not started again when its run is continued with `null` or a decision. */

import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, humanInTheLoopMiddleware, toolRetryMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { turns } from "../support/async.js";
import { DURABILITIES } from "../support/crashing-thread.js";
import { lines } from "../support/lines.js";
import { calls, FunctionModel } from "../support/models.js";
import { mortalSaver, SAVERS } from "../support/mortal-saver.js";
import { type AnyAgent, openAgent, openAgentThread } from "../support/open-thread.js";
import { type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

const LOST = (tool: string, id: string) =>
  `tool! Tool call ${tool} (${id}): the run ended before it finished. It may or may not have taken effect.`;

/** Aborts when so many calls have begun. */
async function abortWhen(
  { run }: ReturnType<typeof openAgent>,
  hasBegun: Promise<unknown>,
  input: unknown,
  options: object = {},
) {
  const controller = new AbortController();
  const running = run(input, { signal: controller.signal, ...options });
  await hasBegun;
  await turns();
  controller.abort();
  expect((await running).error).toBeDefined();
}

describe.each(DURABILITIES)("With the durability %s", (durability) => {
  it.each(["v1", "v2"])("the input null does not start a started call again: %s", async (version) => {
    const probe = createProbe();
    const tools = [probe.fast, probe.heedful];
    const model = scripted(calls(["fast", {}, "f"], ["heedful", {}, "h"]), "Better now?");
    const thread = openAgent({ model, tools, version });
    await abortWhen(thread, probe.hasBegun(2), user("Go."), { durability });
    const { error, events } = await thread.run(null, { durability });
    expect(error).toBeUndefined();
    expect(probe.runs).toEqual(["fast:-", "heedful:-"]);
    expect(script(await thread.read())).toEqual(
      lines("human: Go. | ai> fast heedful | tool: fast done -", LOST("heedful", "h"), "ai: Better now?"),
    );
    expect(events).toContainEqual({
      type: "call-closed",
      tool: "heedful",
      callId: "h",
      cause: "interrupted",
    });
  });

  it("a decision does not start a call again that ran beside the question", async () => {
    const probe = createProbe();
    const asking = makeTool("asking", async () => `The human says ${interrupt("Which?")}`);
    const model = scripted(calls(["asking", {}, "a"], ["heedful", {}, "h"]), "Better now?");
    const thread = openAgent({ model, tools: [asking, probe.heedful] });
    await abortWhen(thread, probe.hasBegun(1), user("Go."), { durability });
    expect((await thread.run(new Command({ resume: "this" }), { durability })).error).toBeUndefined();
    expect(probe.runs).toEqual(["heedful:-"]);
    expect(script(await thread.read())).toEqual(
      lines(
        "human: Go. | ai> asking heedful | tool: The human says this",
        LOST("heedful", "h"),
        "ai: Better now?",
      ),
    );
  });

  it("a tool that may be repeated is started again", async () => {
    const runs: string[] = [];
    let isFirst = true;
    const repeatable = makeTool("repeatable", async (_, { signal }) => {
      runs.push("run");
      if (!isFirst) return "done";
      isFirst = false;
      return new Promise((_resolve, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason)),
      );
    });
    repeatable.metadata = { replay: "safe" };
    const thread = openAgent({
      model: scripted(calls(["repeatable", {}, "r"]), "Thanks."),
      tools: [repeatable],
    });
    const hasBegun = expect.poll(() => runs.length).toBe(1);
    await abortWhen(thread, hasBegun as unknown as Promise<void>, user("Go."), { durability });
    expect((await thread.run(null, { durability })).error).toBeUndefined();
    expect(script(await thread.read())).toEqual(
      lines("human: Go. | ai> repeatable | tool: done | ai: Thanks."),
    );
  });

  it("what the tool returns after the abort is its result", async () => {
    const probe = createProbe();
    const thread = openAgent({ model: scripted(calls(["deaf", {}, "d"]), "Thanks."), tools: [probe.deaf] });
    await abortWhen(thread, probe.hasBegun(1), user("Go."), { durability });
    probe.release();
    await expect.poll(() => probe.ends).toEqual(["deaf:-"]);
    await turns();
    const { error, events } = await thread.run(null, { durability });
    expect(error).toBeUndefined();
    expect(events).toContainEqual({ type: "result-recovered", tool: "deaf", callId: "d" });
    expect(probe.runs).toEqual(["deaf:-"]);
    expect(script(await thread.read())).toEqual(
      lines("human: Go. | ai> deaf | tool: deaf done - | ai: Thanks."),
    );
  });

  it("a tool that asks twice runs again with each answer", async () => {
    const asking = makeTool("asking", async () => `${interrupt("One?")} ${interrupt("Two?")}`);
    const thread = openAgent({ model: scripted(calls(["asking", {}, "a"]), "Thanks."), tools: [asking] });
    for (const input of [user("Go."), new Command({ resume: "1" }), new Command({ resume: "2" })])
      expect((await thread.run(input, { durability })).error).toBeUndefined();
    expect(script(await thread.read())).toEqual(lines("human: Go. | ai> asking | tool: 1 2 | ai: Thanks."));
  });
});

describe.each(SAVERS)("After a killed process, with $name", ({ create }) => {
  it.each(["async", "sync"] as const)(
    "a call that it started is not started again: %s",
    async (durability) => {
      const saver = create();
      const { mortal, die } = mortalSaver(saver);
      const runs: string[] = [];
      const paying = makeTool("pay", async () => {
        runs.push("pay");
        die();
        return "paid";
      });
      const model = () =>
        new FunctionModel(({ text }) => (text === "Go." ? calls(["pay", {}, "p"]) : "Better now?"));
      const parts = { tools: [paying] };
      const dead = openAgent({ ...parts, model: model(), checkpointer: mortal });
      expect((await dead.run(user("Go."), { durability })).error).toBeDefined();
      const next = openAgent({ ...parts, model: model(), checkpointer: saver });
      expect((await next.run(null, { durability })).error).toBeUndefined();
      expect(runs).toEqual(["pay"]);
      expect(script(await next.read())).toEqual(
        lines("human: Go. | ai> pay", LOST("pay", "p"), "ai: Better now?"),
      );
    },
  );

  it("a call that it had not yet started is started", async () => {
    const saver = create();
    const { mortal, die } = mortalSaver(saver);
    const probe = createProbe();
    const dying = createMiddleware({
      name: "Dying",
      wrapToolCall: () => {
        die();
        throw new Error("The process has died.");
      },
    });
    const model = () =>
      new FunctionModel(({ text }) => (text === "Go." ? calls(["fast", {}, "f"]) : "Thanks."));
    const open = (checkpointer: typeof saver, ...before: unknown[]) =>
      openAgent({
        model: model(),
        tools: [probe.fast],
        checkpointer,
        middleware: [...before, tetherMiddleware()],
      });
    expect((await open(mortal, dying).run(user("Go."), { durability: "sync" })).error).toBeDefined();
    const next = open(saver);
    expect((await next.run(null)).error).toBeUndefined();
    expect(script(await next.read())).toEqual(
      lines("human: Go. | ai> fast | tool: fast done - | ai: Thanks."),
    );
  });
});

it("A call is not started if the checkpoint that sent it cannot be saved, and the next run is not to blame", async () => {
  class FullSaver extends MemorySaver {
    isFull = false;
    override async put(...given: Parameters<MemorySaver["put"]>) {
      if (this.isFull && (given[2].step ?? 0) > 1) throw new Error("The disk is full.");
      return super.put(...given);
    }
  }
  for (const durability of ["async", "sync"] as const) {
    const checkpointer = new FullSaver();
    const probe = createProbe();
    const model = new FunctionModel(({ messages }) =>
      messages.at(-1)?.type === "tool" ? "Done." : calls(["fast", {}, `f${messages.length}`]),
    );
    const thread = openAgent({ model, tools: [probe.fast], checkpointer });
    checkpointer.isFull = true;
    expect((await thread.run(user("Go."), { durability })).error).toMatchObject({
      message: "The disk is full.",
    });
    expect(probe.runs).toEqual([]);
    checkpointer.isFull = false;
    expect((await thread.run(user("Again."), { durability: "exit" })).error).toBeUndefined();
    expect(probe.runs).toEqual(["fast:-"]);
  }
});

it("Middleware that repeats a call in the same run starts it each time", async () => {
  let left = 2;
  const flaky = makeTool("flaky", async () => {
    left -= 1;
    if (left >= 0) throw new Error("Away.");
    return "done";
  });
  const retry = toolRetryMiddleware({ maxRetries: 2, initialDelayMs: 0, jitter: false });
  const thread = openAgent({
    model: scripted(calls(["flaky", {}, "f"]), "Thanks."),
    tools: [flaky],
    middleware: [retry, tetherMiddleware()],
  });
  expect(script(await thread.send("Go."))).toEqual(
    lines("human: Go. | ai> flaky | tool: done | ai: Thanks."),
  );
});

it("A call that a human approves in a thread from before the middleware is started", async () => {
  const checkpointer = new MemorySaver();
  const probe = createProbe();
  const approval = humanInTheLoopMiddleware({ interruptOn: { fast: true } } as never);
  const open = (step: Step, ...more: unknown[]) =>
    openAgentThread(
      createAgent({
        model: scripted(step),
        tools: [probe.fast],
        checkpointer,
        middleware: [approval, ...more],
      } as never) as unknown as AnyAgent,
    );
  expect((await open(calls(["fast", {}, "f"])).run(user("Go."))).error).toBeUndefined();
  const next = open("Thanks.", tetherMiddleware());
  const { error } = await next.run(new Command({ resume: { decisions: [{ type: "approve" }] } }));
  expect(error).toBeUndefined();
  expect(script(await next.read())).toEqual(lines("human: Go. | ai> fast | tool: fast done - | ai: Thanks."));
});

describe("A tool that returns a command", () => {
  it.each([
    ["without an update", () => new Command({})],
    ["without messages", () => new Command({ update: { note: "n" } })],
    ["with another message", () => new Command({ update: { messages: [] } })],
  ])("%s has returned, and its result says so", async (_, make) => {
    const writing = makeTool("writing", async () => make());
    const { fast } = createProbe();
    const model = scripted(calls(["writing", {}, "w"], ["fast", {}, "f"]), "Thanks.");
    const thread = openAgent({ model, tools: [writing, fast] });
    const { error, events } = await thread.run(user("Go."));
    expect(error).toBeUndefined();
    expect(events).toEqual([]);
    expect(script(await thread.read())).toEqual(
      lines("human: Go. | ai> writing fast | tool: (no output) | tool: fast done - | ai: Thanks."),
    );
  });
});
