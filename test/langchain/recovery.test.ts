import { RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { Command, MemorySaver, StateSchema } from "@langchain/langgraph";
import { createAgent, createMiddleware, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { PairedMessagesDeltaValue, type Repair } from "../../src/index.js";
import { type RepairPlace, type TetherMiddlewareOptions, tetherMiddleware } from "../../src/langchain.js";
import { type AnyAgent, openAgentThread } from "../support/open-agent-thread.js";
import { createProbe } from "../support/probe-tools.js";
import { calls, type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";

const UNSURE = "It may or may not have taken effect.";
const closed = (tool: string, id: string, cause = "a new message came before it finished.") =>
  `tool! Tool call ${tool} (${id}): ${cause} ${UNSURE}`;
const declined = (tool: string, id: string) =>
  `tool! Tool call ${tool} (${id}): it was not approved, so it was not run.`;

function open(steps: readonly Step[], options: TetherMiddlewareOptions = {}, before: readonly object[] = []) {
  const probe = createProbe();
  const agent = createAgent({
    model: scripted(...steps),
    tools: [probe.fast, probe.heedful, probe.deaf, probe.failing],
    checkpointer: new MemorySaver(),
    middleware: [...before, tetherMiddleware(options)] as never,
  }) as unknown as AnyAgent;
  return { agent, probe, thread: openAgentThread(agent) };
}

type Opened = ReturnType<typeof open>;

/** A run that is cancelled when `fast` has ended and the other call of its batch runs. */
async function cancelRun({ thread, probe }: Opened, text: string, durability: "sync" | "async" | "exit") {
  const controller = new AbortController();
  const run = thread.run(user(text), { signal: controller.signal, durability });
  await probe.hasBegun(2);
  await expect.poll(() => probe.ends).toContain("fast:-");
  controller.abort();
  expect((await run).error).toBeDefined();
}

const batch = () => calls(["fast", {}, "f"], ["heedful", {}, "h"]);

describe("after a run that was cancelled in the middle of a batch", () => {
  it.each(["sync", "async", "exit"] as const)(
    "the finished result is there, and the other call is closed with its cause: %s",
    async (durability) => {
      const repairs: [Repair, RepairPlace][] = [];
      const opened = open([batch(), "Better now?"], {
        onRepair: (...given) => {
          repairs.push(given);
          throw new Error("A listener that throws does no harm.");
        },
      });
      const { thread } = opened;
      await cancelRun(opened, "Go.", durability);
      const { events, error } = await thread.run(user("Hello?"));
      expect(error).toBeUndefined();
      expect(script(await thread.read())).toEqual([
        "human: Go.",
        "ai> fast heedful",
        "tool: fast done -",
        closed("heedful", "h"),
        "human: Hello?",
        "ai: Better now?",
      ]);
      expect(events).toEqual([
        { type: "result-recovered", tool: "fast", callId: "f" },
        { type: "call-closed", tool: "heedful", callId: "h", cause: "superseded" },
      ]);
      expect(repairs).toEqual([
        [
          expect.objectContaining({ kind: "call-closed", call: expect.objectContaining({ id: "h" }) }),
          { threadId: "1" },
        ],
      ]);
    },
  );

  it("a late result takes the place of the placeholder", async () => {
    const opened = open([batch(), "Better now?", "Thanks."]);
    const { thread, agent } = opened;
    await cancelRun(opened, "Go.", "sync");
    await thread.send("Hello?");
    const late = new ToolMessage({ content: "late", tool_call_id: "h" });
    await agent.graph.updateState(thread.config, { messages: [late, new RemoveMessage({ id: "unknown" })] });
    expect(script(await thread.send("And now?")).slice(1, 4)).toEqual([
      "ai> fast heedful",
      "tool: fast done -",
      "tool: late",
    ]);
  });

  it("the result is found past a run that ended before this middleware", async () => {
    let fails = true;
    const failing = createMiddleware({
      name: "Failing",
      beforeAgent: ({ messages }) => {
        if (fails && messages.length > 1) throw new Error("The database is away.");
        return undefined;
      },
    });
    const opened = open([batch(), "Better now?"], {}, [failing]);
    const { thread } = opened;
    await cancelRun(opened, "Go.", "sync");
    expect((await thread.run(user("Hello?"))).error).toBeDefined();
    expect((await thread.run(user("Hello??"))).error).toBeDefined();
    fails = false;
    const lines = script(await thread.send("Hello???"));
    expect(lines.slice(0, 4)).toEqual([
      "human: Go.",
      "ai> fast heedful",
      "tool: fast done -",
      closed("heedful", "h"),
    ]);
    expect(lines).toHaveLength(8);
  });

  it("over a delta channel, whose checkpoints lack the history, both calls are closed", async () => {
    const probe = createProbe();
    const agent = createAgent({
      model: scripted(batch(), "Better now?"),
      tools: [probe.fast, probe.heedful],
      checkpointer: new MemorySaver(),
      stateSchema: new StateSchema({ messages: PairedMessagesDeltaValue as never }),
      middleware: [tetherMiddleware()],
    }) as unknown as AnyAgent;
    const thread = openAgentThread(agent);
    await cancelRun({ agent, probe, thread }, "Go.", "sync");
    expect(script(await thread.send("Hello?")).slice(2, 4)).toEqual([
      closed("fast", "f"),
      closed("heedful", "h"),
    ]);
  });

  it("going on without input runs only the calls that had not finished", async () => {
    const opened = open([calls(["fast", {}, "f"], ["deaf", {}, "d"]), "Done."]);
    const { thread, probe } = opened;
    await cancelRun(opened, "Go.", "sync");
    probe.release();
    expect((await thread.run(null)).error).toBeUndefined();
    expect(script(await thread.read())).toEqual([
      "human: Go.",
      "ai> fast deaf",
      "tool: fast done -",
      "tool: deaf done -",
      "ai: Done.",
    ]);
    expect(probe.runs.filter((run) => run === "fast:-")).toHaveLength(1);
  });
});

describe("a run that goes on without `beforeAgent`", () => {
  it("stores the placeholders beside the response", async () => {
    const { agent, thread } = open(["First.", "Second."]);
    await thread.send("Hi.");
    const messages = [calls(["fast", {}, "f"]), { role: "user", content: "Hello?" }];
    await agent.graph.updateState(thread.config, { messages }, "tether.before_agent");
    const { error } = await thread.run(null);
    expect(error).toBeUndefined();
    expect(script(await thread.read())).toEqual([
      "human: Hi.",
      "ai: First.",
      "ai> fast",
      closed("fast", "f"),
      "human: Hello?",
      "ai: Second.",
    ]);
  });
});

describe("beside `humanInTheLoopMiddleware`", () => {
  // With `exactOptionalPropertyTypes`, LangChain's type of these options is `never`.
  const asksAboutDeaf = () => [humanInTheLoopMiddleware({ interruptOn: { deaf: true } } as never)];
  const mixed = () => calls(["fast", {}, "f"], ["deaf", { label: "x" }, "d"]);

  it("a new message declines the call that waits, and closes the other", async () => {
    const { thread, probe } = open([mixed(), "As you like."], {}, asksAboutDeaf());
    await thread.run(user("Go."));
    expect(probe.runs).toEqual([]);
    expect(script(await thread.send("Never mind."))).toEqual([
      "human: Go.",
      "ai> fast deaf",
      closed("fast", "f"),
      declined("deaf", "d"),
      "human: Never mind.",
      "ai: As you like.",
    ]);
    expect(probe.runs).toEqual([]);
  });

  it.each([
    ["approve", "tool: deaf done x"],
    ["reject", expect.stringMatching(/^tool! /)],
  ])("a decision leaves a mixed batch sound: %s", async (type, expected) => {
    const { thread, probe } = open([mixed(), "Done."], {}, asksAboutDeaf());
    probe.release();
    await thread.run(user("Go."));
    const { error } = await thread.run(new Command({ resume: { decisions: [{ type }] } }));
    expect(error).toBeUndefined();
    const lines = script(await thread.read());
    expect(lines[3]).toEqual(expected);
    expect(lines.at(-1)).toBe("ai: Done.");
  });
});
