/** Threads in trouble on the pages of the inspector, over each checkpointer. The tests of the server have the same table. */

import { AIMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { storeOf } from "../../src/doctor/graph-store.js";
import { createGraphStore } from "../../src/doctor.js";
import { createAgentGraph } from "../../src/index.js";
import { createInspector } from "../../src/inspector.js";
import { pay, tools } from "../fixtures/agents/tools.js";
import { archiving } from "../fixtures/long-thread/graph.js";
import { FunctionModel } from "../support/function-model.js";
import { SAVERS } from "../support/savers.js";
import { user } from "../support/thread.js";
import { BATCH, TOLD } from "./told.js";

const config = { configurable: { thread_id: "1" } };

function openThread(saver: BaseCheckpointSaver = new MemorySaver()) {
  return inspected(
    createAgentGraph({
      model: "offline:",
      tools: [...tools, pay],
      requireApproval: ["pay"],
      checkpointer: saver,
    }),
  );
}

function inspected(graph: ReturnType<typeof createAgentGraph>) {
  const inspector = createInspector({ threads: () => createGraphStore({ graph }), isProtected: true });
  const page = async (query = "") =>
    (await inspector(new Request(`http://localhost/tether/threads/1${query}`))).text();
  const told = async (query = "") => JSON.parse(await page(`.json${query}`));
  const send = (text: string, options = {}) => graph.invoke(user(text), { ...config, ...options });
  return { graph, inspector, page, told, send };
}

/** Cancels a run when one of its calls has ended, and the other hangs. */
const cancelBatch = (thread: ReturnType<typeof inspected>) =>
  cancelWhen(thread, async () =>
    (await thread.graph.getState(config)).tasks.some((task) => JSON.stringify(task).includes("deaf done")),
  );

async function cancelWhen(
  { send }: ReturnType<typeof inspected>,
  isDue: () => Promise<boolean>,
  options = {},
): Promise<void> {
  const ending = new AbortController();
  const run = send(BATCH, { ...options, signal: ending.signal });
  run.catch(() => {});
  while (!(await isDue())) await new Promise((resolve) => setTimeout(resolve, 10));
  ending.abort();
  await expect(run).rejects.toThrow();
}

const KINDS = SAVERS.filter(({ title }) => title !== "a saver that keeps the first value of each version");

describe.each(KINDS)("the page of a thread in $title", ({ isThere, open }) => {
  const opened = async () => openThread((await open()).connect());

  it.runIf(isThere)("that was cancelled shows what is saved, before and after the next message", async () => {
    const thread = await opened();
    await thread.send("hello");
    await cancelBatch(thread);
    expect(await thread.told()).toMatchObject(TOLD.cancelled);
    const page = await thread.page();
    for (const words of ["will be recovered", "will be closed: superseded", "nothing is lost"])
      expect(page).toContain(words);
    expect(page).not.toContain("placeholder: ");
    await thread.send("go on");
    const continued = await thread.told();
    expect(continued).toMatchObject(TOLD["cancelled and continued"]);
    // Calls that wait for their tools are no fault of a step.
    expect(continued.steps.map(({ findings }: { findings: number }) => findings)).not.toContain(1);
  });

  it.runIf(isThere)("whose run ended before a call was started says so", async () => {
    const { connect } = await open();
    const saver = connect();
    const thread = openThread(saver);
    // The start of the first call is noted. The other one waits for it.
    const isStarted = async () =>
      (await saver.getTuple(config))?.pendingWrites?.some(([, channel]) => channel === "tether:calls") ===
      true;
    await cancelWhen(thread, isStarted, { maxConcurrency: 1 });
    expect(await thread.told()).toMatchObject(TOLD.queued);
    await thread.send("go on");
    expect(await thread.told()).toMatchObject(TOLD["queued and continued"]);
  });

  it.runIf(isThere)("that waits for a human shows what is asked", async () => {
    const thread = await opened();
    await thread.send('call pay {"amount": 30}');
    expect(await thread.told()).toMatchObject(TOLD.waiting);
    const page = await thread.page();
    expect(page).toContain("The model is not asked now.");
    expect(page).not.toContain("placeholder: ");
  });

  it.runIf(isThere)("whose model fails shows the error", async () => {
    const model = new FunctionModel(() => new Error("The model is on fire."));
    const { connect } = await open();
    const thread = inspected(createAgentGraph({ model, checkpointer: connect() }));
    await expect(thread.send("hello")).rejects.toThrow();
    expect(await thread.told()).toMatchObject({
      status: "error",
      errors: [{ node: "model", text: expect.stringContaining("on fire") }],
      moment: { kind: "next" },
    });
    expect(await thread.page()).toContain("on fire");
  });

  it.runIf(isThere)("that was forked tells its branches apart, and compares with the parent", async () => {
    const thread = await opened();
    await thread.send("one");
    const fork = (await thread.graph.getState(config)).config;
    await thread.send("left");
    await thread.graph.invoke(user("right"), fork);
    const { steps, story } = await thread.told();
    expect(new Set(steps.map(({ branch }: { branch: number }) => branch))).toEqual(new Set([1, 2]));
    expect(story.willBeRecovered).toEqual([]);
    const [asked] = steps.filter(
      ({ asksModel, branch }: { asksModel: boolean; branch: number }) => asksModel && branch === 1,
    );
    // The request of the other branch has "left". Nothing of this one's parent is gone.
    expect((await thread.told(`?step=${asked.checkpointId}`)).since).toMatchObject({
      isPrefixKept: true,
      gone: 0,
    });
  });
});

describe("a page", () => {
  it("opens the archive of its graph's store, and otherwise says where it is", async () => {
    const graph = archiving({ checkpointer: new MemorySaver(), store: new InMemoryStore() });
    const thread = inspected(graph);
    for (const word of ["first", "second", "third"]) await thread.send(`${word} ${"word ".repeat(300)}`);
    expect(await thread.page()).toMatch(/>\d+ messages? of the archive<.*first word word/s);
    const { checkpointer } = graph;
    const elsewhere = createInspector({
      threads: () => storeOf({ graph: undefined, saver: checkpointer as MemorySaver }, {}),
      isProtected: true,
    });
    const page = await (await elsewhere(new Request("http://localhost/tether/threads/1"))).text();
    expect(page).toMatch(
      /in the namespace <code>langgraph-tether \/ archive \/ 1<\/code>, which cannot be read/,
    );
  });

  it("of a thread in which a result came late says so", async () => {
    const thread = inspected(createAgentGraph({ model: "offline:", tools, checkpointer: new MemorySaver() }));
    const ending = new AbortController();
    const run = thread.send('call deaf {"label": "late", "ms": 300}', { signal: ending.signal });
    run.catch(() => {});
    const begins = async () => (await thread.graph.getState(config)).next.includes("tools");
    while (!(await begins())) await new Promise((resolve) => setTimeout(resolve, 10));
    ending.abort();
    await expect(run).rejects.toThrow();
    await thread.send("hello");
    const isLate = async () => {
      await thread.send("again");
      return (await thread.page()).includes(">late<");
    };
    while (!(await isLate())) await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await thread.told()).story).toMatchObject({ recovered: [{ label: "deaf" }], closed: [] });
  });

  it("of 2,001 rows is full, and a message can be reached by its number", async () => {
    const model = new FunctionModel(() => "yes");
    const thread = inspected(createAgentGraph({ model, checkpointer: new MemorySaver() }));
    const messages = Array.from({ length: 1_000 }, (_, turn) => [
      ...user(`question ${turn}`).messages,
      new AIMessage({ id: `a${turn}`, content: `answer ${turn}` }),
    ]).flat();
    await thread.graph.updateState(config, { messages });
    const page = await thread.page();
    expect(page).toContain("Rows 1,902 to 2,001, page 21 of 21");
    const answer = await thread.inspector(new Request("http://localhost/tether/threads/1?at=1000"));
    expect([answer.status, answer.headers.get("location")]).toEqual([
      303,
      "/tether/threads/1?page=11#stored-1000",
    ]);
    const changes = await thread.page("?only=changes");
    expect(changes).not.toContain("question 999");
    expect(changes).toContain("the next message");
  });

  it.each([
    ["dialect=nope", "dialect"],
    ["maxTokens=abc", "maxTokens"],
    ["step=first", "step"],
    ["page=0", "page"],
    ["only=x", "only"],
    ["dialect=openai&dialect=mistral", "dialect"],
  ])("says which parameter it cannot use: %s", async (query, name) => {
    const thread = openThread();
    await thread.send("hello");
    for (const path of [`?${query}`, `.json?${query}`]) {
      const answer = await thread.inspector(new Request(`http://localhost/tether/threads/1${path}`));
      const text = (await answer.text()).replaceAll(/<\/?code>/g, "`");
      expect([answer.status, text]).toEqual([400, expect.stringContaining(`Expected \`${name}\``)]);
    }
  });

  it.each(["/tether?q=a&q=b", "/tether?dialekt=openai", "/tether/threads/1?<script>=1"])(
    "says which parameter it does not take: %s",
    async (path) => {
      const answer = await openThread().inspector(new Request(`http://localhost${path}`));
      const text = await answer.text();
      expect([answer.status, text]).toEqual([
        400,
        expect.stringMatching(/Expected .*(q<|dialekt|&lt;script&gt;)/),
      ]);
      expect(text).not.toContain("<script>");
    },
  );

  it("of an agent without tether says that its graph does not mend", async () => {
    const { createAgent } = await import("langchain");
    const model = new FunctionModel(() => "yes");
    const graph = createAgent({ model, tools: [pay], checkpointer: new MemorySaver() }).graph;
    const call = { id: "c1", name: "pay", args: { amount: 1 } };
    await graph.invoke(user("hello"), config);
    const human = { type: "human", content: "next" };
    await graph.updateState(config, {
      messages: [new AIMessage({ content: "", tool_calls: [call] }), human],
    });
    const inspector = createInspector({
      threads: () => createGraphStore({ graph }),
      isProtected: true,
      repairCommand: "npx langgraph-tether repair --sqlite threads.db",
    });
    const page = await (await inspector(new Request("http://localhost/tether/threads/1"))).text();
    for (const words of ["as they are stored", "repair --sqlite threads.db --thread 1", "will be closed"])
      expect(page).toContain(words);
    // Each step says whether it is sound, and the latest one what the doctor says.
    const json = await inspector(new Request("http://localhost/tether/threads/1.json"));
    const told = JSON.parse(await json.text());
    const [latest, ...earlier] = told.steps.map(({ findings }: { findings: number }) => findings);
    expect([latest, told.step.findings]).toEqual([1, 1]);
    expect(new Set(earlier)).toEqual(new Set([0]));
    expect(page.match(/title="sound"/g)).toHaveLength(earlier.length);
  });

  it("lists threads by what their messages say, and by what they have", async () => {
    const thread = openThread();
    await thread.send("is it warm in Reykjavik?");
    const titles = async (query: string) => {
      const answer = await thread.inspector(new Request(`http://localhost/tether.json?${query}`));
      return (JSON.parse(await answer.text()).threads as { title: string }[]).map(({ title }) => title);
    };
    expect(await titles("q=reykjavik")).toEqual(["is it warm in Reykjavik?"]);
    expect(await titles("q=lisbon")).toEqual([]);
    expect(await titles("has=repairs")).toEqual([]);
    expect(await titles("q=warm&has=findings")).toEqual([]);
    await cancelBatch(thread);
    await thread.send("go on");
    expect(await titles("has=repairs")).toEqual(["is it warm in Reykjavik?"]);
    expect((await thread.inspector(new Request("http://localhost/tether?has=x"))).status).toBe(400);
  });
});
