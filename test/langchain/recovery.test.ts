import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import type { Repair } from "../../src/index.js";
import { type TetherMiddlewareOptions, tetherMiddleware } from "../../src/langchain.js";
import { turns } from "../support/async.js";
import { DURABILITIES, type Durability } from "../support/crashing-thread.js";
import { lines } from "../support/lines.js";
import { calls } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { type Step, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

const UNSURE = "It may or may not have taken effect.";
const closed = (tool: string, id: string, cause = "a new message came before it finished.") =>
  `tool! Tool call ${tool} (${id}): ${cause} ${UNSURE}`;

function open(steps: readonly Step[], options: TetherMiddlewareOptions = {}, before: readonly object[] = []) {
  const probe = createProbe();
  const tools = [probe.fast, probe.heedful, probe.deaf, probe.failing];
  const middleware = [...before, tetherMiddleware(options)];
  return { probe, thread: openAgent({ model: scripted(...steps), tools, middleware }) };
}

type Opened = ReturnType<typeof open>;

/** A run that is cancelled when `fast` has ended and the other call of its batch runs. */
async function cancelRun({ thread, probe }: Opened, text: string, durability: Durability) {
  const controller = new AbortController();
  const run = thread.run(user(text), { signal: controller.signal, durability });
  await probe.hasBegun(2);
  await expect.poll(() => probe.ends).toContain("fast:-");
  controller.abort();
  expect((await run).error).toBeDefined();
}

const batch = () => calls(["fast", {}, "f"], ["heedful", {}, "h"]);

describe("after a run that was cancelled in the middle of a batch", () => {
  it.each(DURABILITIES)(
    "the finished result is there, and the other call is closed with its cause: %s",
    async (durability) => {
      const repairs: [Repair, object][] = [];
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
      expect(script(await thread.read())).toEqual(
        lines(
          "human: Go. | ai> fast heedful | tool: fast done -",
          closed("heedful", "h"),
          "human: Hello? | ai: Better now?",
        ),
      );
      expect(events).toEqual([
        { type: "result-recovered", tool: "fast", callId: "f" },
        { type: "call-closed", tool: "heedful", callId: "h", cause: "superseded" },
      ]);
      expect(repairs).toEqual([
        [
          expect.objectContaining({ kind: "call-closed", call: expect.objectContaining({ id: "h" }) }),
          { threadId: "1", runId: expect.any(String), checkpointId: expect.any(String) },
        ],
      ]);
    },
  );

  it.each([
    ["without a store", () => undefined],
    ["with a store", () => new InMemoryStore()],
  ])("what a tool returns after the abort takes the place of the placeholder: %s", async (_, makeStore) => {
    const store = makeStore();
    const probe = createProbe();
    const model = scripted(calls(["deaf", {}, "d"]), "Better now?", "Thanks.", "Bye.");
    const thread = openAgent({ model, tools: [probe.deaf], ...(store && { store }) });
    const controller = new AbortController();
    const run = thread.run(user("Go."), { signal: controller.signal });
    await probe.hasBegun(1);
    controller.abort();
    expect((await run).error).toBeDefined();
    await thread.send("Hello?");
    probe.release();
    await expect.poll(() => probe.ends).toEqual(["deaf:-"]);
    await turns();
    const { events } = await thread.run(user("And now?"));
    expect(events).toContainEqual({ type: "result-recovered", tool: "deaf", callId: "d" });
    expect(script(await thread.read()).slice(0, 4)).toEqual(
      lines("human: Go. | ai> deaf | tool: deaf done - | human: Hello?"),
    );
    expect(script(await thread.send("Bye."))).toHaveLength(9);
    expect(await store?.search(["langgraph-tether"])).toEqual(store && []);
  });

  it.each(DURABILITIES)(
    "what a tool returns right after the abort is there, in a new thread: %s",
    async (durability) => {
      const controller = new AbortController();
      const stopping = makeTool("stopping", async () => {
        await turns();
        controller.abort();
        return "half of it";
      });
      const { fast } = createProbe();
      const model = scripted(calls(["fast", {}, "f"], ["stopping", {}, "s"]), "Better now?");
      const thread = openAgent({ model, tools: [fast, stopping] });
      expect((await thread.run(user("Go."), { signal: controller.signal, durability })).error).toBeDefined();
      expect(script(await thread.send("Hello?")).slice(2, 4)).toEqual(
        lines("tool: fast done - | tool: half of it"),
      );
    },
  );

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
    const shown = script(await thread.send("Hello???"));
    expect(shown.slice(0, 4)).toEqual(
      lines("human: Go. | ai> fast heedful | tool: fast done -", closed("heedful", "h")),
    );
    expect(shown).toHaveLength(8);
  });

  it("the results are stored before the model is asked, so a run whose model fails has them too", async () => {
    const opened = open([batch(), new Error("The provider is away.")]);
    const { thread } = opened;
    await cancelRun(opened, "Go.", "sync");
    expect((await thread.run(user("Hello?"))).error).toBeDefined();
    expect(script(await thread.read())).toEqual(
      lines("human: Go. | ai> fast heedful | tool: fast done -", closed("heedful", "h"), "human: Hello?"),
    );
  });

  it("going on without input runs only the calls that had not finished", async () => {
    const opened = open([calls(["fast", {}, "f"], ["deaf", {}, "d"]), "Done."]);
    const { thread, probe } = opened;
    await cancelRun(opened, "Go.", "sync");
    probe.release();
    expect((await thread.run(null)).error).toBeUndefined();
    expect(script(await thread.read())).toEqual(
      lines("human: Go. | ai> fast deaf | tool: fast done - | tool: deaf done - | ai: Done."),
    );
    expect(probe.runs.filter((run) => run === "fast:-")).toHaveLength(1);
  });
});

it("with the durability sync, a run that begins directly after an abort has the results, also if saving takes a while", async () => {
  const checkpointer = new MemorySaver();
  const put = checkpointer.put.bind(checkpointer);
  checkpointer.put = async (...written) => {
    await turns();
    return put(...written);
  };
  const { fast, heedful, hasBegun, ends } = createProbe();
  const thread = openAgent({ model: scripted(batch(), "Done."), tools: [fast, heedful], checkpointer });
  const ending = new AbortController();
  const options = { ...thread.config, durability: "sync", signal: ending.signal } as const;
  const run = thread.agent.invoke(user("Go.") as never, options).catch((error: unknown) => error);
  await hasBegun(2);
  await expect.poll(() => ends).toContain("fast:-");
  ending.abort();
  expect(await run).toBeInstanceOf(Error);
  expect(script(await thread.send("Hello?"))).toEqual(
    lines(
      `human: Go. | ai> fast heedful | tool: fast done - | ${closed("heedful", "h")}`,
      "human: Hello? | ai: Done.",
    ),
  );
});
