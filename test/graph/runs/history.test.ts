import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver, type StateSnapshot } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { agentThread, type ThreadOptions } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { lines } from "../../support/lines.js";
import { removal } from "../../support/make-messages.js";
import { calls } from "../../support/models.js";
import { oneNode } from "../../support/plain-graph.js";
import { scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, script, user } from "../../support/thread.js";

const config = inThread("1");

function createThread(options: ThreadOptions = {}) {
  const thread = agentThread([], { model: "offline:", ...options });
  const send = (...messages: (BaseMessage | string)[]) => thread.invoke({ messages });
  return { ...thread, read: thread.messages, send };
}

/** A response with calls of `fast`, or with a text. */
const ai = (content: string, ...ids: string[]) => Object.assign(calls(...ids.map(callOf)), { content });
const callOf = (id: string) => ["fast", { label: id }, id] as const;
const result = (tool_call_id: string, content = `result ${tool_call_id}`) =>
  new ToolMessage({ content, tool_call_id });
const a = new HumanMessage("a");

describe("a healthy turn", () => {
  it("writes its messages, and takes no more supersteps than needed", async () => {
    const { graph } = createThread();
    for (const text of ["hello", "call fast and call fast"]) await graph.invoke(user(text), config);
    const states = await allOf<StateSnapshot>(graph.getStateHistory(config));
    const turns = states.toReversed().map(({ next, values }) => [next.join(), values.messages?.length ?? 0]);
    expect(turns).toEqual([
      ["__start__", 0],
      ["model", 1],
      ["", 2],
      ["__start__", 2],
      ["model", 3],
      ["tools,tools", 4],
      ["model", 6],
      ["", 7],
    ]);
  });
});

describe("a thread that another graph has left", () => {
  it.each<[what: string, history: BaseMessage[], found: string]>([
    [
      "with a dangling call",
      [a, ai("", "1"), new HumanMessage("b")],
      "human: a | ai> fast | tool! Tool call fast (1)… | human: b",
    ],
    [
      "with a call that waits",
      [a, ai("", "1", "2"), result("1")],
      "human: a | ai> fast fast | tool: result 1 | tool! Tool call fast (2)…",
    ],
    ["with an orphan result", [a, result("1"), ai("b")], "human: a | ai: b"],
    ["that begins with an orphan result", [result("1"), a], "human: a"],
    [
      "with a result far from its call",
      [ai("", "1"), a, ai("b"), result("1")],
      "ai> fast | tool: result 1 | human: a | ai: b",
    ],
    [
      "with results in another order",
      [ai("", "1", "2"), result("2"), result("1")],
      "ai> fast fast | tool: result 1 | tool: result 2",
    ],
    [
      "with one id used twice",
      [ai("", "1"), result("1", "x"), ai("", "1"), result("1", "y")],
      "ai> fast | tool: x | ai> fast | tool: y",
    ],
  ])("%s is continued, and paired", async (_what, messages, found) => {
    const checkpointer = new MemorySaver();
    const { runs, send } = createThread({ checkpointer });
    await oneNode(() => ({}), checkpointer).invoke({ messages }, config);
    const after = pairedScript(await send("go on"));
    expect(after).toEqual(lines(found, "human: go on | ai: …"));
    expect(runs).toEqual([]);
    expect(pairedScript(await send("call fast"))).toHaveLength(after.length + 4);
  });
});

describe("calls that come in with the input", () => {
  it("are closed and not run, and the model is asked", async () => {
    const { runs, send } = createThread();
    expect(pairedScript(await send("x", ai("", "1", "2"), result("2")))).toEqual(
      lines(
        "human: x | ai> fast fast",
        "tool! Tool call fast (1): no result was recorded for it. It may or may not have taken effect.",
        "tool: result 2 | ai: …no result was recorded…result 2",
      ),
    );
    expect(runs).toEqual([]);
    expect(pairedScript(await send(result("1")))[2]).toBe("tool: result 1");
  });

  it("are left to a caller who runs all calls: the run ends, and goes on when all results were sent", async () => {
    const { runs, send, read } = createThread({ autoInvoke: false });
    await send("x", ai("", "1", "2"));
    expect(script(await read())).toEqual(lines("human: x | ai> fast fast"));
    await send(result("2"));
    expect(script(await read())).toEqual(lines("human: x | ai> fast fast | tool: result 2"));
    expect(pairedScript(await send(result("1")))).toEqual(
      lines("human: x | ai> fast fast | tool: result 1 | tool: result 2 | ai: …result 1…result 2"),
    );
    expect(runs).toEqual([]);
  });

  it("are closed, and not run, when a user message comes instead of the results", async () => {
    const { runs, send } = createThread({ autoInvoke: false });
    await send("x", ai("", "1"));
    const closed =
      "tool! Tool call fast (1): a new message came before it finished. It may or may not have taken effect.";
    expect(pairedScript(await send("hello")).slice(1, 4)).toEqual(lines("ai> fast", closed, "human: hello"));
    expect(runs).toEqual([]);
  });

  it("are not run when nothing is sent after them", async () => {
    const { graph, runs, send } = createThread();
    await send("x", ai("", "1"));
    await send();
    await graph.invoke(null, config);
    expect(runs).toEqual([]);
  });
});

describe("an old result in the checkpoints", () => {
  it("does not come back after the user removed it", async () => {
    const { graph, send, read } = createThread();
    await send('call fast {"label": "1"} and call fast {"label": "2"}');
    await graph.updateState(config, { messages: [removal((await read())[3]?.id ?? "")] });
    expect(pairedScript(await send("hello")).slice(1, 4)).toEqual(
      lines("ai> fast fast | tool: fast done 1", "tool! Tool call fast (…): no result was recorded for it.…"),
    );
  });

  it("is not given to a later call of the same id", async () => {
    const model = scripted(calls(["fast", { label: "old" }, "call_0"]), "one", "two", "three");
    const { send } = createThread({ model });
    await send("first");
    await send("x", ai("", "call_0"));
    expect(pairedScript(await send("second")).slice(1)).toEqual(
      lines(
        "ai> fast | tool: fast done old | ai: one",
        "human: x | ai> fast | tool! Tool call fast (call_0)… | ai: two",
        "human: second | ai: three",
      ),
    );
  });
});
