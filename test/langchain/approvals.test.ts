/** Approvals with LangChain's `humanInTheLoopMiddleware`, and interrupts of tools. */

import { Command, interrupt } from "@langchain/langgraph";
import { humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tetherMiddleware } from "../../src/langchain.js";
import { lines } from "../support/lines.js";
import { calls } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

const text = (name: string, id: string, cause: string) => `tool! Tool call ${name} (${id}): ${cause}`;
const declined = (name: string, id: string) => text(name, id, "it was not approved, so it was not run.");
const notStarted = (name: string, id: string) =>
  text(name, id, "its run ended before it was started, so it was not run.");

// With `exactOptionalPropertyTypes`, LangChain's type of these options is `never`.
const asksAboutDeaf = () => humanInTheLoopMiddleware({ interruptOn: { deaf: true } } as never);

const asking = makeTool(
  "asking",
  async ({ about }) => `${about}: ${interrupt(`Sure about ${about}?`)}`,
  z.object({ about: z.string() }),
);

function open(steps: readonly Step[], order: "before" | "after" = "before") {
  const probe = createProbe();
  const own = tetherMiddleware();
  const thread = openAgent({
    model: scripted(...steps),
    tools: [probe.fast, probe.deaf, asking],
    middleware: order === "before" ? [asksAboutDeaf(), own] : [own, asksAboutDeaf()],
  });
  /** The ids of the questions that wait. */
  const asked = async () => {
    const { tasks } = await thread.agent.graph.getState(thread.config);
    return tasks.flatMap(({ interrupts }) => interrupts.map(({ id = "" }) => id));
  };
  probe.release();
  return { probe, asked, thread };
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
    expect(script(await thread.read())).toEqual(
      lines(
        "human: Go. | ai> fast deaf",
        notStarted("fast", "f"),
        declined("deaf", "d"),
        "human: Never mind. | ai: As you like.",
      ),
    );
    expect(probe.runs).toEqual([]);
  });

  const edited = { type: "edit", editedAction: { name: "deaf", args: { label: "edited" } } };
  const yes = { type: "approve" };

  it.each<[title: string, decisions: readonly object[], lines: readonly unknown[], runs: readonly string[]]>([
    [
      "a batch can be edited and approved",
      [edited, yes, yes],
      ["ai> deaf deaf deaf", "tool: deaf done edited", "tool: deaf done y", "tool: deaf done z", "ai: Done."],
      ["deaf:edited", "deaf:y", "deaf:z"],
    ],
    [
      "one rejection: LangChain drops the other calls of the batch, and the history is sound",
      [edited, { type: "reject" }, yes],
      ["ai> deaf", expect.stringMatching(/^tool! User rejected .* with id y$/), "ai: Done."],
      [],
    ],
  ])("%s", async (_title, decisions, lines, runs) => {
    const { thread, probe } = open([three(), "Done."], order);
    await thread.run(user("Go."));
    expect((await thread.run(decide(...decisions))).error).toBeUndefined();
    expect(script(await thread.read()).slice(1)).toEqual(lines);
    expect([...probe.runs].sort()).toEqual(runs);
  });

  it("two decisions about three calls are refused, and the next message goes on", async () => {
    const { thread, probe } = open([three(), "As you like."], order);
    await thread.run(user("Go."));
    const { error } = await thread.run(decide(yes, { type: "reject" }));
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
    const { thread, probe, asked } = open([batch(), "Done."]);
    await thread.run(user("Go."));
    for (const [index, id] of (await asked()).entries()) {
      const { error } = await thread.run(new Command({ resume: { [id]: index === 0 ? "yes" : "no" } }));
      expect(error).toBeUndefined();
    }
    expect(script(await thread.read()).slice(1)).toEqual(
      lines("ai> asking fast asking | tool: a: yes | tool: fast done - | tool: b: no | ai: Done."),
    );
    expect(probe.runs).toEqual(["fast:-"]);
  });

  it("one answer, and then a new message: what had finished is there", async () => {
    const { thread, probe, asked } = open([batch(), "As you like."]);
    await thread.run(user("Go."));
    const [first = ""] = await asked();
    await thread.run(new Command({ resume: { [first]: "yes" } }));
    const shown = script(await thread.send("Never mind."));
    expect(shown.slice(1, 5)).toEqual(
      lines(
        "ai> asking fast asking | tool: a: yes | tool: fast done -",
        text("asking", "b", "a new message came before it finished. It may or may not have taken effect."),
      ),
    );
    expect(probe.runs).toEqual(["fast:-"]);
  });
});
