/** Threads in trouble on the pages of the inspector, over each checkpointer. The tests of the server have the same table. */

import { AIMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { createAgent, tool } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { storeOf } from "../../src/doctor/graph-store.js";
import { createGraphStore } from "../../src/doctor.js";
import { type AgentGraphOptions, createAgentGraph } from "../../src/index.js";
import { createInspector } from "../../src/inspector.js";
import { pay, tools } from "../fixtures/agents/tools.js";
import { archiving } from "../fixtures/long-thread/graph.js";
import { messagesIn } from "../support/make-messages.js";
import { FunctionModel } from "../support/models.js";
import { SAVERS } from "../support/savers.js";
import { inThread, user } from "../support/thread.js";
import { BATCH, TOLD } from "./told.js";

const config = inThread("1");
/** What LangChain adds to its errors. */
const ADVICE = "\n\nTroubleshooting URL: https://docs.langchain.com/oss/javascript/langchain/errors/X/\n";

type Graph = ReturnType<typeof createAgentGraph>;

function inspected(graph: Graph | object, options: Partial<Parameters<typeof createInspector>[0]> = {}) {
  const threads = () => createGraphStore({ graph, quietMs: 0 });
  const inspector = createInspector({ threads, isProtected: true, ...options });
  const ask = async (path: string) => inspector(new Request(`http://localhost/tether${path}`));
  const page = async (query = "") => (await ask(`/threads/1${query}`)).text();
  const told = async (query = "") => JSON.parse(await page(`.json${query}`));
  return { ask, page, told };
}

function openThread(
  checkpointer: BaseCheckpointSaver = new MemorySaver(),
  options: Partial<AgentGraphOptions> = {},
) {
  const known = {
    model: "offline:",
    tools: [...tools, pay],
    requireApproval: ["pay"],
    checkpointer,
  } as const;
  return opened(createAgentGraph({ ...known, ...options }));
}

function opened(graph: Graph) {
  const send = (text: string, more = {}) => graph.invoke(user(text), { ...config, ...more });
  /** Cancels a run when something has happened. */
  const cancelWhen = async (text: string, hasHappened: () => Promise<boolean>, more = {}) => {
    const ending = new AbortController();
    const run = send(text, { ...more, signal: ending.signal });
    run.catch(() => {});
    await expect.poll(hasHappened, { interval: 10, timeout: 20_000 }).toBe(true);
    ending.abort();
    await expect(run).rejects.toThrow();
  };
  /** Cancels a run when one of its calls has ended, and the other hangs. */
  const cancelBatch = () =>
    cancelWhen(BATCH, async () =>
      (await graph.getState(config)).tasks.some((task) => JSON.stringify(task).includes("deaf done")),
    );
  return { graph, send, cancelWhen, cancelBatch, ...inspected(graph) };
}

const KINDS = SAVERS.filter(({ title }) => title !== "a saver that keeps the first value of each version");

describe.each(KINDS)("the page of a thread in $title", ({ isThere, open }) => {
  const openHere = async () => openThread((await open()).connect());

  it.runIf(isThere)("that was cancelled shows what is saved, before and after the next message", async () => {
    const thread = await openHere();
    await thread.send("hello");
    await thread.cancelBatch();
    expect(await thread.told()).toMatchObject(TOLD.cancelled);
    const page = await thread.page();
    for (const words of ["will be recovered", "will be closed: superseded", "took effect is not known"])
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
      (await saver.getTuple(config))?.pendingWrites?.some(([, channel]) => channel === "tether:diary") ===
      true;
    await thread.cancelWhen(BATCH, isStarted, { maxConcurrency: 1 });
    expect(await thread.told()).toMatchObject(TOLD.queued);
    await thread.send("go on");
    expect(await thread.told()).toMatchObject(TOLD["queued and continued"]);
  });

  it.runIf(isThere)("that waits for a human shows what is asked", async () => {
    const thread = await openHere();
    await thread.send('call pay {"amount": 30}');
    expect(await thread.told()).toMatchObject(TOLD.waiting);
    const page = await thread.page();
    expect(page).toContain("The model is not asked now.");
    expect(page).not.toContain("placeholder: ");
  });

  it.runIf(isThere)("whose model fails shows the error", async () => {
    const model = new FunctionModel(() => new Error(`The model is on fire.${ADVICE}`));
    const thread = openThread((await open()).connect(), { model });
    await expect(thread.send("hello")).rejects.toThrow();
    expect(await thread.told()).toMatchObject({
      status: "error",
      errors: [{ node: "model", text: expect.stringContaining("on fire") }],
      moment: { kind: "next" },
    });
    const page = await thread.page();
    expect(page).toContain("The model is on fire.</bdi>");
    expect(page).not.toContain("Troubleshooting");
  });

  it.runIf(isThere)("that was forked tells its branches apart, and compares with the parent", async () => {
    const thread = await openHere();
    await thread.send("one");
    const fork = (await thread.graph.getState(config)).config;
    await thread.send("left");
    await thread.graph.invoke(user("right"), fork);
    const { steps, story } = await thread.told();
    expect(new Set(steps.map(({ branch }: { branch: number }) => branch))).toEqual(new Set([1, 2]));
    expect(story.willBeRecovered).toEqual([]);
    const asked = steps.find((step: Record<string, unknown>) => step["asksModel"] && step["branch"] === 1);
    // The request of the other branch has "left". Nothing of this one's parent is gone.
    const { since } = await thread.told(`?step=${asked.checkpointId}`);
    expect(since).toMatchObject({ isPrefixKept: true, gone: 0 });
  });
});

describe("a page", () => {
  it("opens what a summary has archived, and says so if its checkpoint is gone", async () => {
    const saver = new MemorySaver();
    const graph = archiving({ checkpointer: saver });
    const thread = opened(graph);
    for (const word of ["first", "second", "third"]) await thread.send(`${word} ${"word ".repeat(300)}`);
    expect(await thread.page()).toMatch(/>\d+ messages? of the archive<.*first word word/s);
    const elsewhere = inspected(graph, { threads: () => storeOf({ graph: undefined, saver }, {}) });
    expect(await elsewhere.page()).toMatch(/>\d+ messages? of the archive<.*first word word/s);
    const threads = saver.storage["1"]?.[""] ?? {};
    const latest = Object.keys(threads).toSorted().at(-1);
    for (const id of Object.keys(threads)) if (id !== latest) delete threads[id];
    expect(await elsewhere.page()).toContain("in an earlier checkpoint of the thread, which cannot be read");
  });

  it("of a thread in which a result came late says so", async () => {
    const thread = openThread();
    const begins = async () => (await thread.graph.getState(config)).next.includes("tools");
    await thread.cancelWhen('call deaf {"label": "late", "ms": 100}', begins);
    const isLate = async () => {
      await thread.send("again");
      return (await thread.page()).includes(">late<");
    };
    await expect.poll(isLate, { timeout: 20_000 }).toBe(true);
    expect((await thread.told()).story).toMatchObject({ recovered: [{ label: "deaf" }], closed: [] });
  });

  it("of 1,100 rows is full, and a message can be reached by its number", async () => {
    const thread = openThread();
    const messages = Array.from({ length: 550 }, (_, turn) => [
      ...user(`question ${turn}`).messages,
      new AIMessage({ id: `a${turn}`, content: `answer ${turn}` }),
    ]).flat();
    await thread.graph.updateState(config, { messages });
    expect(await thread.page()).toContain("Rows 1,001 to 1,100, page 11 of 11");
    const { status, headers } = await thread.ask("/threads/1?at=1000");
    expect([status, headers.get("location")]).toEqual([303, "/tether/threads/1?page=10#stored-1000"]);
    const changes = await thread.page("?only=changes");
    expect(changes).not.toContain("question 549");
    expect(changes).toContain("Nothing was changed.");
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
      const answer = await thread.ask(`/threads/1${path}`);
      const text = (await answer.text()).replaceAll(/<\/?code>/g, "`");
      expect([answer.status, text]).toEqual([400, expect.stringContaining(`Expected \`${name}\``)]);
    }
  });

  it.each(["?q=a&q=b", "?dialekt=openai", "/threads/1?<script>=1"])(
    "says which parameter it does not take: %s",
    async (path) => {
      const answer = await openThread().ask(path);
      const text = await answer.text();
      expect(answer.status).toBe(400);
      expect(text).toMatch(/Expected .*(q<|dialekt|&lt;script&gt;)/);
      expect(text.match(/<script/g)).toEqual(["<script"]);
    },
  );

  it("of an agent without tether says what is sent, that it is refused, and what a repair does", async () => {
    const model = new FunctionModel(() => "yes");
    const { graph } = createAgent({ model, tools: [pay], checkpointer: new MemorySaver() });
    await graph.invoke(user("hello"), config);
    await graph.updateState(config, { messages: messagesIn("a(c1) next") });
    const repairCommand = "npx langgraph-tether repair --sqlite threads.db";
    const thread = inspected(graph, { repairCommand });
    const page = await thread.page();
    expect(page).toMatch(
      /Most providers refuse the next message:.*tool_c1.* has no result \(<a href="#stored-3">.*An assistant message with .*A repair closes 1 call\..*repair --sqlite threads\.db --thread 1</s,
    );
    expect(page).toContain('class="row as-stored bad" id="stored-3"');
    expect(page).toContain("<b>5 messages</b> as stored");
    expect(page).not.toContain("will be closed");
    const repaired = await thread.page("?with=tether");
    expect(repaired).toContain("would be closed");
    expect(repaired).not.toContain("refuse the next message");
    // Each step says whether it is sound, and the latest one what the doctor says.
    const told = await thread.told();
    const [latest, ...earlier] = told.steps.map(({ findings }: { findings: number }) => findings);
    expect([latest, told.step.findings]).toEqual([1, 1]);
    expect(new Set(earlier)).toEqual(new Set([0]));
    // The findings of a step are those of its own messages.
    const asked = await thread.page(
      `?step=${told.steps.find((one: { asksModel: boolean }) => one.asksModel).checkpointId}`,
    );
    expect(asked).not.toContain("What the doctor finds");
  });

  it("finds messages by a part of them, and leads from there to their place among all", async () => {
    const thread = openThread();
    const messages = Array.from({ length: 150 }, (_, turn) => [
      ...user(`question ${turn}`).messages,
      new AIMessage({ id: `a${turn}`, content: `ANSWER ${turn}` }),
    ]).flat();
    await thread.graph.updateState(config, { messages });
    const found = await thread.page("?q=answer+1&with=tether");
    expect(found.match(/<li class="row/g)).toHaveLength(61);
    expect(found).not.toContain("question 1<");
    expect(found).toContain('href="/tether/threads/1?with=tether&amp;at=4"');
    const { headers } = await thread.ask("/threads/1?with=tether&at=4");
    expect(headers.get("location")).toBe("/tether/threads/1?with=tether&page=1#stored-4");
    expect(await thread.page("?q=nothing+says+this")).toContain("No message has this text.");
  });

  it("of a thread shows its sub-agents as a tree, with the way back", async () => {
    const answering = () => new FunctionModel(({ index }) => (index === 0 ? call("c1") : "done"));
    const call = (id: string) =>
      new AIMessage({ content: "", tool_calls: [{ id, name: "delegate", args: {}, type: "tool_call" }] });
    const delegateTo = (run: () => Promise<unknown>) =>
      tool(async () => String(await run()), { name: "delegate", schema: z.object({}) });
    const inner = createAgent({ model: new FunctionModel(() => "done"), tools: [] });
    const outer = createAgent({
      model: answering(),
      tools: [delegateTo(() => inner.invoke(user("Do it.")))],
    });
    const { graph } = createAgent({
      model: answering(),
      tools: [delegateTo(() => outer.invoke(user("Do it.")))],
      checkpointer: new MemorySaver(),
    });
    await graph.invoke(user("Delegate it."), config);
    const thread = inspected(graph);
    const page = await thread.page();
    const [, tree = ""] = /Subgraphs and sub-agents<\/h2>(.*?)<\/section>/s.exec(page) ?? [];
    const [first = "", second = ""] = [...tree.matchAll(/href="([^"]+)"/g)].map(([, href]) => href);
    expect(tree).toMatch(/^<ul><li>.*4 messages.*<ul><li>.*2 messages.*<\/li><\/ul><\/li><\/ul>$/s);
    for (const href of [first, second]) {
      const below = await (await thread.ask(href.replace("/tether", ""))).text();
      expect(below).toContain("Do it.");
      expect(below).toContain('<a href="/tether/threads/1">The thread</a>');
    }
  });

  it("lists threads by what their messages say, and by what they have", async () => {
    const thread = openThread();
    const WARM = "is it warm in Reykjavik?";
    await thread.send(WARM);
    const titles = async (query: string) => {
      const { threads } = JSON.parse(await (await thread.ask(`.json?${query}`)).text());
      return threads.map(({ title }: { title: string }) => title);
    };
    expect(await titles("q=reykjavik")).toEqual([WARM]);
    for (const query of ["q=lisbon", "has=repairs", "q=warm&has=findings"])
      expect(await titles(query)).toEqual([]);
    await thread.cancelBatch();
    expect(await titles("has=open-calls")).toEqual([WARM]);
    expect(await (await thread.ask("")).text()).toContain("2 open calls");
    await thread.send("go on");
    expect(await titles("has=repairs")).toEqual([WARM]);
    expect(await titles("has=open-calls")).toEqual([]);
    expect((await thread.ask("?has=x")).status).toBe(400);
  });
});
