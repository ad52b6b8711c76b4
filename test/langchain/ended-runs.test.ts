/** What an ended run's tools and nodes had written besides results: other keys of the state, and other messages. */

import { AIMessage, ToolMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  Command,
  MemorySaver,
  ReducedValue,
  StateSchema,
} from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { tetherMiddleware, tetherState } from "langgraph-tether/langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { turns } from "../support/async.js";
import { DURABILITIES, type Durability } from "../support/crashing-thread.js";
import { deferred } from "../support/deferred.js";
import { lines } from "../support/lines.js";
import { calls } from "../support/models.js";
import { mortalSaver, SAVERS } from "../support/mortal-saver.js";
import { openAgent } from "../support/open-thread.js";
import { type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

/** `log` collects what is written to it, and `note` keeps the last value. */
const keys = {
  log: new ReducedValue(z.array(z.string()).default([]), {
    inputSchema: z.array(z.string()),
    reducer: (log: string[], more: string[]) => [...log, ...more],
  }),
  note: z.string().default("none"),
};

/** The tools that have written. */
const wrote: string[] = [];

/** A tool that writes both keys beside its result. */
const writing = (name: string, begins?: Promise<void>) =>
  makeTool(name, async (_, { toolCall }) => {
    await begins;
    wrote.push(name);
    const messages = [new ToolMessage({ content: `${name} done`, tool_call_id: toolCall?.id ?? "" })];
    return new Command({ update: { log: [name], note: name, messages } });
  });

interface Options {
  readonly checkpointer?: BaseCheckpointSaver;
  readonly before?: readonly object[];
  readonly more?: readonly ReturnType<typeof writing>[];
}

function open(
  steps: readonly Step[],
  { checkpointer = new MemorySaver(), before = [], more = [] }: Options = {},
) {
  const probe = createProbe();
  const thread = openAgent({
    model: scripted(...steps),
    tools: [writing("one"), writing("two"), probe.heedful, probe.deaf, ...more],
    stateSchema: new StateSchema({ ...tetherState().fields, ...keys }),
    middleware: [...before, tetherMiddleware()],
    checkpointer,
  });
  const own = async () => {
    const { log, note } = await thread.values();
    return { log, note };
  };
  return { probe, thread, own };
}

type Opened = ReturnType<typeof open>;

/** A run that is cancelled when all of its batch's tools but one have ended: those that write. */
async function cancelRun({ thread, probe }: Opened, durability: Durability, writing: readonly string[]) {
  const controller = new AbortController();
  wrote.splice(0);
  const run = thread.run(user("Go."), { signal: controller.signal, durability });
  await probe.hasBegun(1);
  await expect.poll(() => wrote.toSorted()).toEqual(writing);
  await turns();
  controller.abort();
  expect((await run).error).toBeDefined();
}

/** A memory whose writes take a while. */
function slowMemory(): MemorySaver {
  const saver = new MemorySaver();
  for (const name of ["put", "putWrites"] as const) {
    const write = saver[name].bind(saver) as (...given: unknown[]) => Promise<unknown>;
    Object.assign(saver, {
      [name]: async (...given: unknown[]) => {
        await turns();
        return write(...given);
      },
    });
  }
  return saver;
}

const ALL = [...SAVERS, { name: "slow MemorySaver", create: slowMemory }].flatMap((saver) =>
  DURABILITIES.map((durability) => ({ name: saver.name, create: saver.create, durability })),
);

/** `two` is called first, so its values come first, whichever ends first. */
const batch = () => calls(["two", {}, "2"], ["heedful", {}, "h"], ["one", {}, "1"]);

describe("what a tool returned after the abort", () => {
  it("is there with what its Command writes to other keys, once the tool has ended", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const opened = open([calls(["late", {}, "l"], ["heedful", {}, "h"]), "Better now?", "Thanks."], {
      more: [writing("late", released)],
    });
    const { thread, own } = opened;
    await cancelRun(opened, "sync", []);
    await thread.agent.graph.invoke(user("Hello?") as never, thread.config);
    expect(await own()).toEqual({ log: [], note: "none" });
    release();
    await turns();
    await thread.agent.graph.invoke(user("And now?") as never, thread.config);
    expect(script(await thread.read())[2]).toBe("tool: late done");
    expect(await own()).toEqual({ log: ["late"], note: "late" });
  });

  it.each(DURABILITIES)("is there if the run is continued without input: %s", async (durability) => {
    const released = deferred();
    const late = writing("late", released.promise);
    const opened = open([calls(["late", {}, "l"], ["heedful", {}, "h"]), "Better now?"], { more: [late] });
    const { thread, own } = opened;
    await cancelRun(opened, durability, []);
    released.resolve();
    await turns();
    expect((await thread.run(null, { durability })).error).toBeUndefined();
    expect(script(await thread.read())[2]).toBe("tool: late done");
    expect(await own()).toEqual({ log: ["late"], note: "late" });
  });
});

describe("what tools wrote to other keys before their run was cancelled", () => {
  it.each(ALL)("is there with their results: $name, $durability", async ({ create, durability }) => {
    const opened = open([batch(), "Better now?", "Bye."], { checkpointer: create() });
    const { thread, own } = opened;
    await cancelRun(opened, durability, ["one", "two"]);
    // A slow saver may still be at work on what the run has left.
    for (let write = 0; write < 8; write += 1) await turns();
    expect(script(await thread.send("Hello?")).filter((line) => /\b(one|two)\b/.test(line))).toEqual(
      lines("ai> two heedful one | tool: two done | tool: one done"),
    );
    expect(await own()).toEqual({ log: ["two", "one"], note: "one" });
    // LangChain's own `invoke` adds the thread's values to each input, which doubles those with a reducer.
    await thread.agent.graph.invoke(user("Bye.") as never, thread.config);
    expect(await own()).toEqual({ log: ["two", "one"], note: "one" });
  });

  it.each(DURABILITIES)(
    "gives way to what the next input writes, or is combined with it: %s",
    async (durability) => {
      const opened = open([batch(), "Better now?"]);
      const { thread, own } = opened;
      await cancelRun(opened, durability, ["one", "two"]);
      const input = { ...user("Hello?"), log: ["new"], note: "new" };
      expect((await thread.run(input, { durability })).error).toBeUndefined();
      expect(await own()).toEqual({ log: ["new", "two", "one"], note: "new" });
    },
  );

  it("is written once by a run that continues without input", async () => {
    const opened = open([calls(["two", {}, "2"], ["deaf", {}, "d"]), "Done."]);
    const { thread, own, probe } = opened;
    await cancelRun(opened, "sync", ["two"]);
    probe.release();
    expect((await thread.run(null)).error).toBeUndefined();
    expect(await own()).toEqual({ log: ["two"], note: "two" });
  });

  it("is not written to a key that the agent no longer has", async () => {
    const checkpointer = new MemorySaver();
    const opened = open([batch()], { checkpointer });
    await cancelRun(opened, "sync", ["one", "two"]);
    const thread = openAgent({ model: scripted("Better now?"), checkpointer });
    expect(script(await thread.send("Hello?")).at(-1)).toBe("ai: Better now?");
    expect(Object.keys(await thread.values())).not.toContain("log");
  });
});

describe("what a node wrote after the last response, if its process died then", () => {
  /** Its `afterAgent` writes a message and both keys. The process dies before the step is stored. */
  const noting = (die: () => void) =>
    createMiddleware({
      name: "Noting",
      afterAgent: () => {
        die();
        const messages = [new AIMessage({ id: "noted", content: "Noted." })];
        return { messages, log: ["after"], note: "after" } as object;
      },
    });

  it.each(SAVERS)("is there before the next message: $name", async ({ create }) => {
    const stored = create();
    const { mortal, die } = mortalSaver(stored, ["put"]);
    const dead = open(["Done."], { checkpointer: mortal, before: [noting(die)] });
    expect((await dead.thread.run(user("Go."), { durability: "sync" })).error).toBeDefined();
    const { thread, own } = open(["Fine.", "Bye."], { checkpointer: stored, before: [] });
    await thread.agent.graph.invoke(user("Thanks.") as never, thread.config);
    const shown = lines("human: Go. | ai: Done. | ai: Noted. | human: Thanks. | ai: Fine.");
    expect(script(await thread.read())).toEqual(shown);
    expect(await own()).toEqual({ log: ["after"], note: "after" });
    await thread.agent.graph.invoke(user("Bye.") as never, thread.config);
    expect(script(await thread.read())).toEqual([...shown, ...lines("human: Bye. | ai: Bye.")]);
    expect(await own()).toEqual({ log: ["after"], note: "after" });
  });

  it("is found without a further read of threads that ended well", async () => {
    const checkpointer = new MemorySaver();
    let reads = 0;
    const { getTuple } = checkpointer;
    checkpointer.getTuple = async (config) => {
      reads += 1;
      return getTuple.call(checkpointer, config);
    };
    const { thread } = open(["One.", "Two.", "Three."], { checkpointer });
    const readsOf = async (text: string): Promise<number> => {
      const before = reads;
      await thread.agent.graph.invoke(user(text) as never, thread.config);
      return reads - before;
    };
    await readsOf("1");
    expect([await readsOf("2"), await readsOf("3")]).toEqual([1, 1]);
  });

  it("is found with a checkpointer that cannot be changed", async () => {
    const stored = new MemorySaver();
    const { mortal, die } = mortalSaver(stored, ["put"]);
    const dead = open(["Done."], { checkpointer: mortal, before: [noting(die)] });
    expect((await dead.thread.run(user("Go."), { durability: "sync" })).error).toBeDefined();
    const checkpointer = new Proxy(stored, { set: () => false });
    const { thread, own } = open(["Fine."], { checkpointer });
    await thread.agent.graph.invoke(user("Thanks.") as never, thread.config);
    expect(await own()).toEqual({ log: ["after"], note: "after" });
  });
});
