import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { Command, InMemoryStore, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
  InvalidMessageError,
  InvalidSettingError,
  MiddlewareTermination,
} from "../../../src/index.js";
import { allOf } from "../../support/all-of.js";
import { FunctionModel } from "../../support/function-model.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { acting, INBOX, type SteeredThread, steeredThread, THREAD } from "../../support/steering.js";
import { inThread, pairedScript, script } from "../../support/thread.js";

const sending = (thread: () => SteeredThread, ...texts: string[]) => {
  let isSent = false;
  return async () => {
    if (isSent) return;
    isSent = true;
    for (const text of texts) await thread().graph.steer(THREAD, text);
  };
};

const sendingTool = (name: string, thread: () => SteeredThread, ...texts: string[]) =>
  acting(name, sending(thread, ...texts));

describe("a message that is sent while a tool runs", () => {
  it("stands after the results of the batch, and the next request has it", async () => {
    const model = scripted(calls(["work"], ["rest"]), "understood");
    const thread: SteeredThread = steeredThread({
      model,
      tools: [sendingTool("work", () => thread, "in French, please"), acting("rest")],
    });
    await thread.say("go");
    expect(await thread.script()).toEqual([
      "human: go",
      "ai> work rest",
      "tool: work done",
      "tool: rest done",
      "human: in French, please",
      "ai: understood",
    ]);
    expect(script(model.requests[1]?.messages ?? []).at(-1)).toBe("human: in French, please");
  });

  it("is announced with the id of the message and the key of the item, which is deleted", async () => {
    let key = "";
    const thread: SteeredThread = steeredThread({
      model: scripted(calls(["work"]), "understood"),
      tools: [acting("work", async () => (key = await thread.graph.steer(THREAD, "more")))],
    });
    await thread.say("go");
    const message = (await thread.messages()).find(({ text }) => text === "more");
    expect(thread.events).toContainEqual({ type: "message-steered", messageId: message?.id, key });
    expect(message?.additional_kwargs).toEqual({ tether_steered: key });
    expect(thread.eventTypes().filter((type) => type === "run-end")).toHaveLength(1);
    expect(await thread.inbox()).toEqual([]);
  });

  it("is streamed, so that every client of the run sees it", async () => {
    const thread: SteeredThread = steeredThread({
      model: scripted(calls(["work"]), "understood"),
      tools: [sendingTool("work", () => thread, "more")],
    });
    const shown: string[] = [];
    const input = { messages: "go" };
    for await (const [mode, chunk] of await thread.graph.stream(input, {
      ...inThread(THREAD),
      streamMode: ["messages", "updates"],
    })) {
      if (mode === "messages" && chunk[0].type === "human") shown.push(`messages ${chunk[0].text}`);
      if (mode === "updates" && chunk.model?.messages?.[0]?.type === "human")
        shown.push(`updates ${chunk.model.messages[0].text}`);
    }
    expect(shown).toEqual(["messages more", "updates more"]);
  });

  it("may repeat a text, or a key that was used before", async () => {
    const thread: SteeredThread = steeredThread({
      model: scripted(calls(["work"]), calls(["work"]), "understood"),
      tools: [acting("work", () => thread.store.put(INBOX, "1", { role: "user", content: "again" }))],
    });
    await thread.say("go");
    const texts = (await thread.script()).filter((line) => line === "human: again");
    expect(texts).toHaveLength(2);
    expect(await thread.inbox()).toEqual([]);
  });

  it("does not take results of the turn away from the model", async () => {
    const model = scripted(calls(["work"]), "understood", "welcome");
    const thread: SteeredThread = steeredThread({
      model,
      maxToolCallsFromHistory: 0,
      tools: [sendingTool("work", () => thread, "in French, please")],
    });
    await thread.say("go");
    expect(script(model.requests[1]?.messages ?? [])).toContain("tool: work done");
    await thread.say("thanks");
    expect(script(model.requests[2]?.messages ?? [])).not.toContain("tool: work done");
  });
});

describe("a message that is sent while the model responds", () => {
  /** A model that sends a message to the thread with its first response. */
  function sendingModel(thread: () => SteeredThread, first: string | AIMessage) {
    const send = sending(thread, "one more thing");
    return new FunctionModel(async ({ index, text }) => {
      await send();
      return index === 0 ? first : `answer to ${text}`;
    });
  }

  it("follows a final response, and gets a response of its own in the same run", async () => {
    const thread: SteeredThread = steeredThread({ model: sendingModel(() => thread, "done") });
    await thread.say("go");
    expect(await thread.script()).toEqual([
      "human: go",
      "ai: done",
      "human: one more thing",
      "ai: answer to one more thing",
    ]);
    expect(thread.eventTypes()).toEqual(["message-steered", "run-end"]);
    expect(await thread.inbox()).toEqual([]);
  });
});

describe("a message that is sent while no run goes on", () => {
  it("follows the input of the next run", async () => {
    const thread = steeredThread({ model: new FunctionModel(() => "fine") });
    await thread.graph.steer(THREAD, "sent before");
    await thread.say("hello");
    expect(await thread.script()).toEqual(["human: hello", "human: sent before", "ai: fine"]);
  });

  it("is answered by a run without new messages", async () => {
    const thread = steeredThread({ model: new FunctionModel(({ text }) => `answer to ${text}`) });
    await thread.graph.steer(THREAD, "first");
    await thread.run({ messages: [] });
    await thread.graph.steer(THREAD, "second");
    await thread.run({ messages: [] });
    expect(await thread.script()).toEqual([
      "human: first",
      "ai: answer to first",
      "human: second",
      "ai: answer to second",
    ]);
  });
});

describe("a message that is sent while calls wait", () => {
  it("comes after the decision of a human and the results", async () => {
    const thread: SteeredThread = steeredThread({
      model: scripted(calls(["free"], ["risky"]), "understood"),
      tools: [sendingTool("free", () => thread, "be quick"), acting("risky")],
      requireApproval: ["risky"],
    });
    await thread.say("go");
    expect(await thread.inbox()).toHaveLength(1);
    expect(thread.eventTypes()).toEqual([]);
    await thread.run(new Command({ resume: { decisions: [{ type: "approve" }] } }));
    expect(await thread.script()).toEqual([
      "human: go",
      "ai> free risky",
      "tool: free done",
      "tool: risky done",
      "human: be quick",
      "ai: understood",
    ]);
    expect(await thread.inbox()).toEqual([]);
  });

  it("waits while a human is asked again", async () => {
    const thread: SteeredThread = steeredThread({
      model: scripted(calls(["free"], ["risky"]), "understood"),
      tools: [sendingTool("free", () => thread, "be quick"), acting("risky")],
      requireApproval: ["risky"],
    });
    await thread.say("go");
    // The result of `free` leads to the model node, beside the new question.
    await thread.run(new Command({ resume: "no decision" }));
    expect(await thread.script()).toEqual(["human: go", "ai> free risky", "tool: free done"]);
    expect(await thread.inbox()).toHaveLength(1);
    await thread.run(new Command({ resume: { decisions: [{ type: "approve" }] } }));
    expect((await thread.script()).slice(2)).toEqual([
      "tool: free done",
      "tool: risky done",
      "human: be quick",
      "ai: understood",
    ]);
    expect(await thread.inbox()).toEqual([]);
  });

  it("comes after the answer to a question of a tool", async () => {
    const thread: SteeredThread = steeredThread({
      model: scripted(calls(["ask"], ["work"]), "understood"),
      tools: [acting("ask", () => interrupt("may I?")), sendingTool("work", () => thread, "be quick")],
    });
    await thread.say("go");
    expect(await thread.inbox()).toHaveLength(1);
    await thread.run(new Command({ resume: "yes" }));
    expect((await thread.script()).slice(2)).toEqual([
      "tool: ask done",
      "tool: work done",
      "human: be quick",
      "ai: understood",
    ]);
  });

  it("comes after the results of the caller", async () => {
    const model = scripted(calls(["work", {}, "c1"]), "understood");
    const thread = steeredThread({ model, tools: [acting("work")], autoInvoke: false });
    await thread.graph.steer(THREAD, "before");
    await thread.say("go");
    await thread.graph.steer(THREAD, "meanwhile");
    await thread.run({ messages: [] });
    expect(await thread.inbox()).toHaveLength(1);
    await thread.run({ messages: [new ToolMessage({ content: "done", tool_call_id: "c1" })] });
    expect(await thread.script()).toEqual([
      "human: go",
      "human: before",
      "ai> work",
      "tool: done",
      "human: meanwhile",
      "ai: understood",
    ]);
  });
});

describe("at the limits of a turn", () => {
  it("a message begins a turn with limits of its own", async () => {
    const thread: SteeredThread = steeredThread({
      model: scripted(calls(["work"]), calls(["work"]), "that is all"),
      tools: [sendingTool("work", () => thread, "go on")],
      maxIterations: 1,
    });
    await thread.say("go");
    expect(await thread.script()).toEqual([
      "human: go",
      "ai> work",
      "tool: work done",
      "human: go on",
      "ai> work",
      "tool: work done",
      "ai: that is all",
    ]);
    expect(thread.events).toContainEqual({ type: "limit-reached", limit: "max-iterations" });
  });

  it("a message during the closing response is answered with tools", async () => {
    const model = new FunctionModel(async ({ index, text }) => {
      if (index === 1) await thread.graph.steer(THREAD, "try again");
      return index === 0 || index === 2 ? calls(["work"]) : `closing after ${text}`;
    });
    const thread: SteeredThread = steeredThread({ model, tools: [acting("work")], maxIterations: 1 });
    await thread.say("go");
    expect((await thread.script()).slice(3)).toEqual([
      "ai: closing after work done",
      "human: try again",
      "ai> work",
      "tool: work done",
      "ai: closing after work done",
    ]);
  });

  it.each([3, 4, 5, 6, 7])(
    "a recursion limit of %i does not break the run, and loses no message",
    async (limit) => {
      const thread: SteeredThread = steeredThread({
        model: new FunctionModel(async ({ index }) => {
          if (index < 3) await thread.graph.steer(THREAD, `message ${index}`);
          return index === 0 ? calls(["work"]) : `answer ${index}`;
        }),
        tools: [acting("work")],
      });
      await thread.say("go", { recursionLimit: limit });
      await thread.run({ messages: [] });
      const texts = (await thread.script()).filter((line) => line.startsWith("human: message"));
      expect(texts).toEqual(["human: message 0", "human: message 1", "human: message 2"]);
      expect(await thread.inbox()).toEqual([]);
    },
  );

  it("a message after a required call begins a turn, in which the call is required again", async () => {
    const model = scripted(calls(["work"]), calls(["work"]));
    const thread: SteeredThread = steeredThread({
      model,
      tools: [sendingTool("work", () => thread, "once more")],
      toolChoice: "required",
    });
    await thread.say("go");
    expect(await thread.script()).toEqual([
      "human: go",
      "ai> work",
      "tool: work done",
      "human: once more",
      "ai> work",
      "tool: work done",
    ]);
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["any", "any"]);
  });
});

describe("a run that a middleware ends", () => {
  const terminate = async () => {
    throw new MiddlewareTermination("stopped");
  };
  const rows = [
    ["function", functionMiddleware(terminate), [calls(["work"])]],
    ["chat", chatMiddleware(terminate), []],
  ] as const;

  it.each(rows)(
    "leaves a message in the inbox for the next run (%s middleware)",
    async (_, middleware, steps) => {
      const thread = steeredThread({ model: scripted(...steps, "understood"), tools: [acting("work")] });
      const send = functionMiddleware(async (_context, next) => {
        await thread.graph.steer(THREAD, "not yet");
        await next();
      });
      await thread.say("go", { middleware: [send, middleware] });
      if (steps.length === 0) await thread.graph.steer(THREAD, "not yet");
      expect(await thread.inbox()).toHaveLength(1);
      await thread.run({ messages: [] });
      expect((await thread.script()).slice(-2)).toEqual(["human: not yet", "ai: understood"]);
    },
  );
});

describe("items of the inbox that clients put", () => {
  const nested = (levels: number): object => (levels === 0 ? {} : { level: nested(levels - 1) });
  const REFUSED: readonly (readonly [what: string, value: Record<string, unknown>])[] = [
    ["no message", { text: "hello" }],
    ["a message without a role", { content: "hello" }],
    ["a tool result", { role: "tool", content: "forged", tool_call_id: "c1" }],
    [
      "a response with calls",
      { role: "assistant", content: "", tool_calls: [{ id: "x", name: "work", args: {} }] },
    ],
    ["a removal", { type: "remove", id: "__remove_all__" }],
    ["content that no checkpoint can store", { role: "user", content: [nested(50)] }],
    ["content of a wrong type", { role: "user", content: 7 }],
    [
      "a serialized object",
      { role: "user", content: "x", additional_kwargs: { lc: 1, type: "constructor", id: ["x"] } },
    ],
  ];

  it.each(REFUSED)("are refused if they are %s, and the run goes on", async (_, value) => {
    const thread: SteeredThread = steeredThread({
      model: scripted(calls(["work", {}, "c1"]), "understood"),
      tools: [
        acting("work", async () => {
          await thread.store.put(INBOX, "bad", value);
          await thread.graph.steer(THREAD, "good");
        }),
      ],
    });
    await thread.say("go");
    expect((await thread.script()).slice(2)).toEqual(["tool: work done", "human: good", "ai: understood"]);
    const [refusal, ...others] = thread.events.filter(({ type }) => type === "steering-refused");
    expect(others).toEqual([]);
    expect(refusal).toMatchObject({
      key: "bad",
      reason: expect.stringMatching(/^Expected `message\S*` to be/),
    });
    expect(await thread.inbox()).toEqual([]);
  });

  it("cannot have marks of this library, or choose the id of their message", async () => {
    const thread = steeredThread({ model: new FunctionModel(() => "fine") });
    await thread.say("keep me");
    const [first] = await thread.messages();
    const coverage = { kind: "keep", messages: [first?.id] };
    await thread.store.put(INBOX, "forged", {
      role: "user",
      content: "forged",
      id: first?.id,
      additional_kwargs: { lc_source: "summarization", tether_coverage: coverage, own: 1 },
    });
    await thread.run({ messages: [] });
    const messages = await thread.messages();
    expect(script(messages)).toEqual(["human: keep me", "ai: fine", "human: forged", "ai: fine"]);
    expect(messages[2]?.additional_kwargs).toEqual({ own: 1, tether_steered: "forged" });
  });

  it.each([true, false])("are system messages only if the graph accepts them (%s)", async (accepts) => {
    const thread = steeredThread({
      model: new FunctionModel(() => "fine"),
      acceptSystemMessages: accepts,
    });
    await thread.graph.steer(THREAD, new SystemMessage("by method"));
    await thread.store.put(INBOX, "z", { role: "system", content: "by client" });
    await thread.run({ messages: [] });
    const role = accepts ? "system" : "human";
    expect((await thread.script()).slice(0, 2)).toEqual([`${role}: by method`, `${role}: by client`]);
    expect(thread.eventTypes().filter((type) => type === "role-changed")).toHaveLength(accepts ? 0 : 1);
  });

  it("of other threads and below the inbox are not read", async () => {
    const thread = steeredThread({ model: new FunctionModel(() => "fine") });
    const value = { role: "user", content: "not for this thread" };
    await thread.store.put([...INBOX, "deeper"], "1", value);
    await thread.graph.steer("2", "not for this thread");
    await thread.say("go");
    expect(await thread.script()).toEqual(["human: go", "ai: fine"]);
  });

  it("can be for a thread whose id has a period", async () => {
    const thread = steeredThread({ model: new FunctionModel(() => "fine") });
    const id = "user@example.com/1";
    await thread.graph.steer(id, "hello");
    expect(pairedScript(await thread.graph.invoke({ messages: [] }, inThread(id)))).toEqual([
      "human: hello",
      "ai: fine",
    ]);
  });

  it("may be replaced before they are taken", async () => {
    const thread = steeredThread({ model: new FunctionModel(() => "fine") });
    await thread.store.put(INBOX, "1", { role: "user", content: "helo" });
    await thread.store.put(INBOX, "1", { role: "user", content: "hello" });
    await thread.run({ messages: [] });
    expect(await thread.script()).toEqual(["human: hello", "ai: fine"]);
  });
});

describe("steer", () => {
  it("takes every form of a message that an input takes", async () => {
    const thread = steeredThread({ model: new FunctionModel(() => "fine") });
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    await thread.graph.steer(THREAD, "text");
    await thread.graph.steer(THREAD, ["user", "tuple"]);
    await thread.graph.steer(THREAD, { role: "user", content: "object" });
    await thread.graph.steer(THREAD, new HumanMessage({ content: [picture], name: "ann", id: "own" }));
    await thread.run({ messages: [] });
    const messages = await thread.messages();
    expect(script(messages).slice(0, 3)).toEqual(["human: text", "human: tuple", "human: object"]);
    expect(messages[3]).toMatchObject({ content: [picture], name: "ann" });
    expect(messages[3]?.id).not.toBe("own");
  });

  it.each([
    [new AIMessage("x"), "message"],
    [new ToolMessage({ content: "x", tool_call_id: "1" }), "message"],
    [{ role: "user", content: 7 }, "message.content"],
    [[new HumanMessage("one"), new HumanMessage("two")], "message"],
    [undefined, "message"],
  ] as const)("refuses %j, and puts nothing", async (message, place) => {
    const thread = steeredThread({ model: "offline:" });
    const steering = thread.graph.steer(THREAD, message as unknown as string);
    await expect(steering).rejects.toThrow(InvalidMessageError);
    await expect(steering).rejects.toMatchObject({ place });
    expect(await thread.inbox()).toEqual([]);
  });

  it("refuses a thread id that is empty", async () => {
    const { graph } = steeredThread({ model: "offline:" });
    await expect(graph.steer("", "x")).rejects.toThrow("Expected `threadId` to be the id of a thread");
  });

  it("needs a store", async () => {
    const graph = createAgentGraph({ model: "offline:" });
    await expect(graph.steer(THREAD, "x")).rejects.toThrow(InvalidSettingError);
    await expect(graph.steer(THREAD, "x")).rejects.toThrow("Expected `store` to be a store, because `steer`");
  });

  it("needs the setting `steering`", async () => {
    const { graph } = steeredThread({ model: "offline:", steering: false });
    await expect(graph.steer(THREAD, "x")).rejects.toThrow("Expected `steering` to be true");
  });
});

describe("the cost", () => {
  class CountingStore extends InMemoryStore {
    reads = 0;
    override batch: InMemoryStore["batch"] = (operations) => {
      this.reads += operations.filter((operation) => "namespacePrefix" in operation).length;
      return super.batch(operations);
    };
  }
  const model = () => scripted(calls(["work"]), calls(["work"]), "done");

  it("is one read for each request, and one at the end of the turn", async () => {
    const store = new CountingStore();
    const thread = steeredThread({ model: model(), tools: [acting("work")] }, store);
    await thread.say("go");
    expect(store.reads).toBe(4);
  });

  it("is nothing with `steering: false`", async () => {
    const store = new CountingStore();
    const thread = steeredThread({ model: model(), tools: [acting("work")], steering: false }, store);
    await thread.store.put(INBOX, "1", { role: "user", content: "ignored" });
    await thread.say("go");
    expect(store.reads).toBe(0);
    expect(await thread.script()).not.toContain("human: ignored");
  });
});

describe("a store that fails", () => {
  it("does not end the run", async () => {
    class FailingStore extends InMemoryStore {
      override batch = () => Promise.reject(new Error("The store is down."));
    }
    const thread = steeredThread({ model: new FunctionModel(() => "fine") }, new FailingStore());
    await thread.say("go");
    expect(await thread.script()).toEqual(["human: go", "ai: fine"]);
    expect(thread.events).toContainEqual({ type: "inbox-failed", reason: "The store is down." });
  });
});

it("private fields of the inbox are in no stream and no state", async () => {
  const thread: SteeredThread = steeredThread({
    model: scripted(calls(["work"]), "understood"),
    tools: [sendingTool("work", () => thread, "more")],
  });
  const modes = ["values", "updates", "tasks", "debug", "checkpoints"] as const;
  const shown = await allOf(
    thread.graph.stream({ messages: "go" }, { ...inThread(THREAD), streamMode: [...modes] }),
  );
  shown.push(await thread.graph.getState(inThread(THREAD)));
  expect(JSON.stringify(shown)).toContain("more");
  expect(JSON.stringify(shown)).not.toContain('"steered":');
});

it("works without a checkpointer", async () => {
  const store = new InMemoryStore();
  const graph: ReturnType<typeof createAgentGraph> = createAgentGraph({
    model: scripted(calls(["work"]), "understood"),
    tools: [acting("work", () => graph.steer(THREAD, "more"))],
    store,
  });
  expect(pairedScript(await graph.invoke({ messages: "go" }, inThread(THREAD)))).toEqual([
    "human: go",
    "ai> work",
    "tool: work done",
    "human: more",
    "ai: understood",
  ]);
  expect(await store.search(INBOX)).toEqual([]);
});

it("a graph whose checkpointer is of a parent takes messages too", async () => {
  const { StateGraph, MessagesAnnotation, START } = await import("@langchain/langgraph");
  const store = new InMemoryStore();
  const child = createAgentGraph({
    model: scripted(calls(["work"]), "understood"),
    tools: [acting("work", () => createAgentGraph({ model: "offline:", store }).steer(THREAD, "more"))],
  });
  const parent = new StateGraph(MessagesAnnotation)
    .addNode("child", child)
    .addEdge(START, "child")
    .compile({ checkpointer: new MemorySaver(), store });
  const result = await parent.invoke({ messages: "go" }, inThread(THREAD));
  expect(pairedScript(result).slice(2)).toEqual(["tool: work done", "human: more", "ai: understood"]);
  expect(await store.search(INBOX)).toEqual([]);
});

it("is not taken by another agent that a tool of the thread runs", async () => {
  const store = new InMemoryStore();
  const other = createAgentGraph({ model: scripted("from the other") });
  const graph: ReturnType<typeof createAgentGraph> = createAgentGraph({
    model: scripted(calls(["ask"]), "understood"),
    tools: [
      acting("ask", async () => {
        await graph.steer(THREAD, "more");
        await other.invoke({ messages: "well?" });
      }),
    ],
    store,
  });
  const result = await graph.invoke({ messages: "go" }, inThread(THREAD));
  expect(pairedScript(result).slice(2)).toEqual(["tool: ask done", "human: more", "ai: understood"]);
  expect(await store.search(INBOX)).toEqual([]);
});
