/** A message directly after an abort: the aborted run's writes are still on their way to the database. */

import { MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent } from "langchain";
import { afterEach, describe, expect, it, vi } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { abortAndSend, openAbortable, slowly, WHOLE } from "../support/aborted-runs.js";
import { turns } from "../support/async.js";
import { DURABILITIES } from "../support/crashing-thread.js";
import { deferred } from "../support/deferred.js";
import { lines } from "../support/lines.js";
import { calls, FunctionModel } from "../support/models.js";
import { type AnyAgent, openAgentThread } from "../support/open-thread.js";
import { FirstValueSaver } from "../support/savers.js";
import { script, user } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

afterEach(() => {
  vi.useRealTimers();
});

describe.each(DURABILITIES)("With the durability %s, a message directly after an abort", (durability) => {
  it.each([new MemorySaver(), new FirstValueSaver(), SqliteSaver.fromConnString(":memory:")])(
    "finds all of the aborted run, with slow writes: $constructor.name",
    async (saver) => {
      const opened = openAbortable(slowly(saver));
      for (const thread of ["1", "2", "3"])
        expect(await abortAndSend(opened, opened, thread, durability)).toEqual(WHOLE);
    },
  );

  it("finds all, even if another agent with the same checkpointer gets it", async () => {
    const saver = slowly(new MemorySaver());
    const [one, other] = [openAbortable(saver), openAbortable(saver)];
    expect(await abortAndSend(one, other, "1", durability)).toEqual(WHOLE);
    expect(await abortAndSend(other, one, "2", durability)).toEqual(WHOLE);
  });

  it("finds all in a thread of a checkpointer with private fields and own methods", async () => {
    class OwnSaver extends MemorySaver {
      readonly #seen: string[] = [];
      get seen(): readonly string[] {
        return this.#seen;
      }
      override async put(...given: Parameters<MemorySaver["put"]>) {
        // It reads the thread while it writes.
        await this.getTuple(given[0]);
        await turns();
        this.#seen.push(given[1].id);
        return super.put(...given);
      }
    }
    const saver = new OwnSaver();
    const opened = openAbortable(saver);
    expect(await abortAndSend(opened, opened, "1", durability)).toEqual(WHOLE);
    expect(saver.seen.length).toBeGreaterThan(1);
  });
});

it("A proxy and its target stay as they are, because others may use the target without the proxy", async () => {
  const saver = new MemorySaver();
  const get = (target: MemorySaver, name: PropertyKey) => {
    const value: unknown = Reflect.get(target, name, target);
    return typeof value === "function" ? value.bind(target) : value;
  };
  const before = Reflect.ownKeys(saver);
  await openAgentThread(openAbortable(new Proxy(saver, { get })).agent).send("Hello?");
  expect(Reflect.ownKeys(saver)).toEqual(before);
});

it("Even the first run of a process is found if it is aborted before its first write has ended", async () => {
  const saver = slowly(new MemorySaver());
  const asked = deferred();
  let isFirst = true;
  const model = new FunctionModel(async () => {
    if (!isFirst) return "Better now?";
    isFirst = false;
    asked.resolve();
    await turns();
    return "too late";
  });
  const parts = { model, checkpointer: saver, middleware: [tetherMiddleware()] };
  const agent = createAgent(parts as never) as unknown as AnyAgent;
  const thread = openAgentThread(agent);
  const controller = new AbortController();
  const run = agent.invoke(user("Go.") as never, { ...thread.config, signal: controller.signal });
  run.catch(() => {});
  await asked.promise;
  controller.abort();
  await expect(run).rejects.toThrow(/abort/i);
  expect(script(await thread.send("Hello?"))).toEqual(lines("human: Go. | human: Hello? | ai: Better now?"));
});

it.each([
  ["frozen", (saver: MemorySaver) => Object.freeze(saver)],
  ["a proxy", (saver: MemorySaver) => new Proxy(saver, {})],
  ["of two processes", undefined],
])("A checkpointer that cannot wait works as without the middleware: %s", async (_, change) => {
  const saver = new MemorySaver();
  const process = () => {
    const own = new MemorySaver();
    own.storage = saver.storage;
    own.writes = saver.writes;
    return own;
  };
  const [first, second] = change === undefined ? [process(), process()] : [change(saver), change(saver)];
  expect(await abortAndSend(openAbortable(first), openAbortable(second), "1", "sync")).toEqual(WHOLE);
});

it("A checkpointer whose methods are replaced later gets what they write", async () => {
  const saver = new MemorySaver();
  const opened = openAbortable(saver);
  await openAgentThread(opened.agent).send("Hello?");
  const put = vi.spyOn(saver, "put");
  await openAgentThread(opened.agent, "2").send("Hello?");
  expect(put).toHaveBeenCalled();
  put.mockRestore();
  expect(await abortAndSend(opened, opened, "3", "async")).toEqual(WHOLE);
});

it("A run fails if a write of an earlier run does not end, and the thread can be used again later", async () => {
  const saver = new MemorySaver();
  const put = vi.spyOn(saver, "put");
  const { agent } = openAbortable(saver);
  const thread = openAgentThread(agent);
  await thread.send("Hello?");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const count = put.mock.calls.length;
  put.mockImplementationOnce(() => new Promise(() => {}));
  const controller = new AbortController();
  const run = agent.invoke(user("And now?") as never, { ...thread.config, signal: controller.signal });
  run.catch(() => {});
  while (put.mock.calls.length === count) await turns();
  controller.abort();
  await expect(run).rejects.toThrow(/abort/i);
  const failed = thread.run(user("Hello??"));
  await turns();
  await vi.advanceTimersByTimeAsync(5_000);
  expect((await failed).error).toMatchObject({
    message: expect.stringMatching(/the thread `1`, but a write has not ended for 5 seconds/),
  });
  expect(script(await openAgentThread(agent, "2").send("Hello?"))).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(script(await thread.send("Hello???"))).toEqual(
    lines("human: Hello? | ai: Better now? | human: Hello??? | ai: Better now?"),
  );
});

it("A tool can read its own thread while the run is being saved", async () => {
  const saver = slowly(new MemorySaver());
  const reading = makeTool("reading", async () => {
    const { values } = await agent.graph.getState({ configurable: { thread_id: "1" } });
    return String(values.messages.length);
  });
  const model = new FunctionModel(({ text }) => (text === "Go." ? calls(["reading", {}, "r"]) : "Thanks."));
  const middleware = [tetherMiddleware()];
  const agent = createAgent({
    model,
    tools: [reading],
    checkpointer: saver,
    middleware,
  } as never) as unknown as AnyAgent;
  expect(script(await openAgentThread(agent).send("Go."))).toEqual(
    lines("human: Go. | ai> reading | tool: 2 | ai: Thanks."),
  );
});
