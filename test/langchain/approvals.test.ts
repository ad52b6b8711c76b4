/** Approvals with LangChain's `humanInTheLoopMiddleware`, and interrupts of tools. */

import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tetherMiddleware } from "../../src/langchain.js";
import { type AnyAgent, openAgentThread } from "../support/open-agent-thread.js";
import { createProbe } from "../support/probe-tools.js";
import { calls, type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";

const text = (name: string, id: string, cause: string) => `tool! Tool call ${name} (${id}): ${cause}`;
const declined = (name: string, id: string) => text(name, id, "it was not approved, so it was not run.");
const notStarted = (name: string, id: string) =>
  text(name, id, "its run ended before it was started, so it was not run.");

// With `exactOptionalPropertyTypes`, LangChain's type of these options is `never`.
const asksAboutDeaf = () => humanInTheLoopMiddleware({ interruptOn: { deaf: true } } as never);

const asking = tool(async ({ about }) => `${about}: ${interrupt(`Sure about ${about}?`)}`, {
  name: "asking",
  description: "Asks a human.",
  schema: z.object({ about: z.string() }),
});

function open(steps: readonly Step[], order: "before" | "after" = "before") {
  const probe = createProbe();
  const own = tetherMiddleware();
  const agent = createAgent({
    model: scripted(...steps),
    tools: [probe.fast, probe.deaf, asking],
    checkpointer: new MemorySaver(),
    middleware: order === "before" ? ([asksAboutDeaf(), own] as never) : ([own, asksAboutDeaf()] as never),
  }) as unknown as AnyAgent;
  const interrupts = async () => {
    const { tasks } = await agent.graph.getState({ configurable: { thread_id: "1" } });
    return tasks.flatMap((task) => task.interrupts);
  };
  probe.release();
  return { probe, interrupts, thread: openAgentThread(agent) };
}

const decide = (...decisions: object[]) => new Command({ resume: { decisions } });
const three = () =>
  calls(["deaf", { label: "x" }, "x"], ["deaf", { label: "y" }, "y"], ["deaf", { label: "z" }, "z"]);

describe.each(["before", "after"] as const)("`humanInTheLoopMiddleware` %s this one", (order) => {
  it("a new message declines the call that waits; the other one was not started", async () => {
    const mixed = calls(["fast", {}, "f"], ["deaf", { label: "x" }, "d"]);
    const { thread, probe } = open([mixed, "As you like."], order);
    await thread.run(user("Go."));
    const { events } = await thread.run(user("Never mind."));
    expect(events).toEqual([
      { type: "call-closed", tool: "fast", callId: "f", cause: "not-started" },
      { type: "call-closed", tool: "deaf", callId: "d", cause: "declined" },
    ]);
    expect(script(await thread.read())).toEqual([
      "human: Go.",
      "ai> fast deaf",
      notStarted("fast", "f"),
      declined("deaf", "d"),
      "human: Never mind.",
      "ai: As you like.",
    ]);
    expect(probe.runs).toEqual([]);
  });

  it("a batch can be edited and approved", async () => {
    const { thread, probe } = open([three(), "Done."], order);
    await thread.run(user("Go."));
    const edited = { type: "edit", editedAction: { name: "deaf", args: { label: "edited" } } };
    const resumed = await thread.run(decide(edited, { type: "approve" }, { type: "approve" }));
    expect(resumed.error).toBeUndefined();
    expect(script(await thread.read()).slice(1)).toEqual([
      "ai> deaf deaf deaf",
      "tool: deaf done edited",
      "tool: deaf done y",
      "tool: deaf done z",
      "ai: Done.",
    ]);
    expect([...probe.runs].sort()).toEqual(["deaf:edited", "deaf:y", "deaf:z"]);
  });

  it("one rejection: LangChain drops the other calls of the batch, and the history is sound", async () => {
    const { thread, probe } = open([three(), "Done."], order);
    await thread.run(user("Go."));
    const edited = { type: "edit", editedAction: { name: "deaf", args: { label: "edited" } } };
    const resumed = await thread.run(decide(edited, { type: "reject" }, { type: "approve" }));
    expect(resumed.error).toBeUndefined();
    expect(script(await thread.read()).slice(1)).toEqual([
      "ai> deaf",
      expect.stringMatching(/^tool! User rejected .* with id y$/),
      "ai: Done.",
    ]);
    expect(probe.runs).toEqual([]);
  });

  it("two decisions about three calls are refused, and the next message goes on", async () => {
    const { thread, probe } = open([three(), "As you like."], order);
    await thread.run(user("Go."));
    const { error } = await thread.run(decide({ type: "approve" }, { type: "reject" }));
    expect(String(error)).toMatch(/decisions/);
    expect(script(await thread.send("Never mind.")).slice(2)).toEqual([
      notStarted("deaf", "x"),
      notStarted("deaf", "y"),
      notStarted("deaf", "z"),
      "human: Never mind.",
      "ai: As you like.",
    ]);
    expect(probe.runs).toEqual([]);
  });
});

describe("several tools of one batch that ask", () => {
  const batch = () =>
    calls(["asking", { about: "a" }, "a"], ["fast", {}, "f"], ["asking", { about: "b" }, "b"]);

  it("are answered one after the other, and no call runs twice", async () => {
    const { thread, probe, interrupts } = open([batch(), "Done."]);
    await thread.run(user("Go."));
    const [a, b] = await interrupts();
    for (const [asked, answer] of [[a, "yes"] as const, [b, "no"] as const]) {
      const { error } = await thread.run(new Command({ resume: { [asked?.id ?? ""]: answer } }));
      expect(error).toBeUndefined();
    }
    expect(script(await thread.read()).slice(1)).toEqual([
      "ai> asking fast asking",
      "tool: a: yes",
      "tool: fast done -",
      "tool: b: no",
      "ai: Done.",
    ]);
    expect(probe.runs).toEqual(["fast:-"]);
  });

  it("one answer, and then a new message: what had finished is there", async () => {
    const { thread, probe, interrupts } = open([batch(), "As you like."]);
    await thread.run(user("Go."));
    const [first] = await interrupts();
    await thread.run(new Command({ resume: { [first?.id ?? ""]: "yes" } }));
    const lines = script(await thread.send("Never mind."));
    expect(lines.slice(1, 5)).toEqual([
      "ai> asking fast asking",
      "tool: a: yes",
      "tool: fast done -",
      text("asking", "b", "a new message came before it finished. It may or may not have taken effect."),
    ]);
    expect(probe.runs).toEqual(["fast:-"]);
  });
});
