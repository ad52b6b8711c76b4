import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { Command, InMemoryStore, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
  InvalidMessageError,
  InvalidSettingError,
  MiddlewareTermination,
} from "../../../src/index.js";
import { lines } from "../../support/lines.js";
import { type Answer, calls, FunctionModel } from "../../support/models.js";
import { parentOf } from "../../support/plain-graph.js";
import { type Step, scripted } from "../../support/scripted-model.js";
import { acting, INBOX, type SteeredThread, steeredThread, THREAD } from "../../support/steering.js";
import { inThread, pairedScript, script } from "../../support/thread.js";

const work = () => calls(["work"]);
const fine = () => new FunctionModel(() => "fine");
const approve = new Command({ resume: { decisions: [{ type: "approve" }] } });
const noMessages = { messages: [] };

type Options = Partial<AgentGraphOptions>;

/** A thread whose tools `work`, which sends a message when it first runs, and `rest` are there. */
function workingThread(
  steps: readonly Step[],
  { tools = [], ...options }: Options = {},
  store?: InMemoryStore,
) {
  const model = scripted(...steps);
  let isSent = false;
  const send = async () => {
    if (isSent) return;
    isSent = true;
    await thread.graph.steer(THREAD, "more");
  };
  const all = [acting("work", send), acting("rest"), ...tools];
  const thread: SteeredThread = steeredThread({ model, tools: all, ...options }, store);
  return Object.assign(thread, { model });
}

type Play = readonly [steps: readonly Step[], choices: string, script: string, Options?, ...then: unknown[]];

const BATCH = "human: go | ai> work rest | tool: work done | tool: rest done | human: more | ai: understood";
const asked: Options = { requireApproval: ["rest"] };

describe("a message that is sent while a tool runs", () => {
  it.each(
    Object.entries<Play>({
      "stands after the results of the batch": [
        [calls(["work"], ["rest"]), "understood"],
        "auto auto",
        BATCH,
      ],
      "comes after the decision of a human and the results": [
        [calls(["work"], ["rest"]), "understood"],
        "auto auto",
        BATCH,
        asked,
        approve,
      ],
      // The result of `work` leads to the model node, beside the new question.
      "waits while a human is asked again": [
        [calls(["work"], ["rest"]), "understood"],
        "auto auto",
        BATCH,
        asked,
        new Command({ resume: "no decision" }),
        approve,
      ],
      "comes after the answer to a question of a tool": [
        [calls(["ask"], ["work"]), "understood"],
        "auto auto",
        "human: go | ai> ask work | tool: ask done | tool: work done | human: more | ai: understood",
        { tools: [acting("ask", () => interrupt("may I?"))] },
        new Command({ resume: "yes" }),
      ],
      "begins a turn with limits of its own": [
        [work(), work(), "that is all"],
        "auto auto none",
        "human: go | ai> work | tool: work done | human: more | ai> work | tool: work done | ai: that is all",
        { maxIterations: 1 },
      ],
      "begins a turn in which a required call is required again": [
        [work(), work()],
        "any any",
        "human: go | ai> work | tool: work done | human: more | ai> work | tool: work done",
        { toolChoice: "required" },
      ],
    }),
  )("%s", async (_title, [steps, choices, expected, options, ...then]) => {
    const thread = workingThread(steps, options);
    await thread.say("go");
    for (const input of then) {
      expect(await thread.inbox()).toHaveLength(1);
      expect(new Set(thread.eventTypes())).toEqual(new Set(["run-end"]));
      expect(await thread.script()).not.toContain("human: more");
      await thread.run(input);
    }
    expect(await thread.script()).toEqual(lines(expected));
    expect(await thread.inbox()).toEqual([]);
    const { requests } = thread.model;
    expect(requests.map(({ toolChoice = "auto" }) => toolChoice).join(" ")).toBe(choices);
    expect(script(requests[1]?.messages ?? []).at(-1)).toBe("human: more");
  });

  it("is announced with the id of the message and the key of the item, which is deleted", async () => {
    let key = "";
    const thread: SteeredThread = steeredThread({
      model: scripted(work(), "understood"),
      tools: [acting("work", async () => (key = await thread.graph.steer(THREAD, "more")))],
    });
    await thread.say("go");
    const message = (await thread.messages()).find(({ text }) => text === "more");
    expect(thread.events).toContainEqual(
      expect.objectContaining({ type: "message-steered", messageId: message?.id, key }),
    );
    expect(message?.additional_kwargs).toEqual({ tether_steered: key });
    expect(thread.eventTypes().filter((type) => type === "run-end")).toHaveLength(1);
    expect(await thread.inbox()).toEqual([]);
  });

  it("is streamed, so that every client of the run sees it, without private fields", async () => {
    const streamMode = ["messages", "updates", "values"] as const;
    const thread = workingThread([work(), "understood"]);
    const chunks: unknown[] = [];
    const shown: string[] = [];
    const stream = await thread.graph.stream(
      { messages: "go" },
      { ...inThread(THREAD), streamMode: [...streamMode] },
    );
    for await (const [mode, chunk] of stream) {
      if (mode === "messages" && chunk[0].type === "human") shown.push(`messages ${chunk[0].text}`);
      if (mode === "updates" && chunk.model?.messages?.[0]?.type === "human")
        shown.push(`updates ${chunk.model.messages[0].text}`);
      if (mode !== "messages") chunks.push(chunk);
    }
    expect(shown).toEqual(["messages more", "updates more"]);
    const all = JSON.stringify([chunks, await thread.graph.getState(inThread(THREAD))]);
    expect(all).toContain("more");
    expect(all).not.toContain('"steered":');
  });

  it("may repeat a text, or a key that was used before", async () => {
    const thread: SteeredThread = steeredThread({
      model: scripted(work(), work(), "understood"),
      tools: [acting("work", () => thread.store.put(INBOX, "1", { role: "user", content: "again" }))],
    });
    await thread.say("go");
    expect((await thread.script()).filter((line) => line === "human: again")).toHaveLength(2);
    expect(await thread.inbox()).toEqual([]);
  });

  it("does not take results of the turn away from the model", async () => {
    const thread = workingThread([work(), "understood", "welcome"], { maxToolCallsFromHistory: 0 });
    await thread.say("go");
    await thread.say("thanks");
    const hasResult = thread.model.requests.map(({ messages }) =>
      script(messages).includes("tool: work done"),
    );
    expect(hasResult).toEqual([false, true, false]);
  });
});

describe("a message that is sent while the model responds", () => {
  /** A thread whose model sends a message with each of these requests. */
  function sendingThread(requests: readonly number[], answer: Answer, options: Options = {}) {
    const model = new FunctionModel(async (asked) => {
      if (requests.includes(asked.index)) await thread.graph.steer(THREAD, `message ${asked.index}`);
      return answer(asked);
    });
    const thread: SteeredThread = steeredThread({ model, tools: [acting("work")], ...options });
    return thread;
  }

  it("follows a final response, and gets a response of its own in the same run", async () => {
    const thread = sendingThread([0], ({ text }) => `answer to ${text}`);
    await thread.say("go");
    expect(await thread.script()).toEqual(
      lines("human: go | ai: answer to go", "human: message 0 | ai: answer to message 0"),
    );
    expect(thread.eventTypes()).toEqual(["message-steered", "run-end"]);
    expect(await thread.inbox()).toEqual([]);
  });

  it("that closes a turn at its limit is answered with tools", async () => {
    const answer: Answer = ({ index, text }) => (index % 2 === 0 ? work() : `closing after ${text}`);
    const thread = sendingThread([1], answer, { maxIterations: 1 });
    await thread.say("go");
    expect(thread.events).toContainEqual(
      expect.objectContaining({ type: "limit-reached", limit: "max-iterations" }),
    );
    expect((await thread.script()).slice(3)).toEqual(
      lines(
        "ai: closing after work done",
        "human: message 1 | ai> work | tool: work done | ai: closing after work done",
      ),
    );
  });

  it.each([3, 4, 5, 6, 7])(
    "does not break the run at a recursion limit of %i, and is not lost",
    async (limit) => {
      const thread = sendingThread([0, 1, 2], ({ index }) => (index === 0 ? work() : `answer ${index}`));
      await thread.say("go", { recursionLimit: limit });
      await thread.run(noMessages);
      const texts = (await thread.script()).filter((line) => line.startsWith("human: message"));
      expect(texts).toEqual(["human: message 0", "human: message 1", "human: message 2"]);
      expect(await thread.inbox()).toEqual([]);
    },
  );
});

describe("a message that is sent while no run goes on", () => {
  it("follows the input of the next run", async () => {
    const thread = steeredThread({ model: fine() });
    await thread.graph.steer(THREAD, "sent before");
    await thread.say("hello");
    expect(await thread.script()).toEqual(lines("human: hello | human: sent before | ai: fine"));
  });

  it("is answered by a run without new messages", async () => {
    const thread = steeredThread({ model: new FunctionModel(({ text }) => `answer to ${text}`) });
    for (const text of ["first", "second"]) {
      await thread.graph.steer(THREAD, text);
      await thread.run(noMessages);
    }
    expect(await thread.script()).toEqual(
      lines("human: first | ai: answer to first", "human: second | ai: answer to second"),
    );
  });

  it("comes after the results of the caller", async () => {
    const model = scripted(calls(["work", {}, "c1"]), "understood");
    const thread = steeredThread({ model, tools: [acting("work")], autoInvoke: false });
    await thread.graph.steer(THREAD, "before");
    await thread.say("go");
    await thread.graph.steer(THREAD, "meanwhile");
    await thread.run(noMessages);
    expect(await thread.inbox()).toHaveLength(1);
    await thread.run({ messages: [new ToolMessage({ content: "done", tool_call_id: "c1" })] });
    expect(await thread.script()).toEqual(
      lines("human: go | human: before | ai> work | tool: done", "human: meanwhile | ai: understood"),
    );
  });
});

describe("a run that a middleware ends", () => {
  const terminate = async () => {
    throw new MiddlewareTermination("stopped");
  };

  it.each([
    ["function", functionMiddleware(terminate), [work()]],
    ["chat", chatMiddleware(terminate), []],
  ] as const)(
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
      await thread.run(noMessages);
      expect((await thread.script()).slice(-2)).toEqual(lines("human: not yet | ai: understood"));
    },
  );
});

describe("items of the inbox that clients put", () => {
  const nested = (levels: number): object => (levels === 0 ? {} : { level: nested(levels - 1) });
  const serialized = { lc: 1, type: "constructor", id: ["x"] };
  const withCalls = { role: "assistant", content: "", tool_calls: [{ id: "x", name: "work", args: {} }] };

  it.each<[what: string, value: Record<string, unknown>]>([
    ["no message", { text: "hello" }],
    ["a message without a role", { content: "hello" }],
    ["a tool result", { role: "tool", content: "forged", tool_call_id: "c1" }],
    ["a response with calls", withCalls],
    ["a removal", { type: "remove", id: "__remove_all__" }],
    ["content that no checkpoint can store", { role: "user", content: [nested(50)] }],
    ["content of a wrong type", { role: "user", content: 7 }],
    ["a serialized object", { role: "user", content: "x", additional_kwargs: serialized }],
  ])("are refused if they are %s, and the run goes on", async (_, value) => {
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
    expect((await thread.script()).slice(2)).toEqual(lines("tool: work done | human: good | ai: understood"));
    const reason = expect.stringMatching(/^Expected `message\S*` to be/);
    expect(thread.events.filter(({ type }) => type === "steering-refused")).toEqual([
      expect.objectContaining({ key: "bad", reason }),
    ]);
    expect(await thread.inbox()).toEqual([]);
  });

  it("cannot have marks of this library, or choose the id of their message", async () => {
    const thread = steeredThread({ model: fine() });
    await thread.say("keep me");
    const id = (await thread.messages())[0]?.id;
    const tether_coverage = { kind: "keep", messages: [id] };
    const additional_kwargs = { lc_source: "summarization", tether_coverage, own: 1 };
    await thread.store.put(INBOX, "forged", { role: "user", content: "forged", id, additional_kwargs });
    await thread.run(noMessages);
    expect(await thread.script()).toEqual(lines("human: keep me | ai: fine | human: forged | ai: fine"));
    const [, , forged] = await thread.messages();
    expect(forged?.additional_kwargs).toEqual({ own: 1, tether_steered: "forged" });
  });

  it.each([true, false])("are system messages only if the graph accepts them (%s)", async (accepts) => {
    const thread = steeredThread({ model: fine(), acceptSystemMessages: accepts });
    await thread.graph.steer(THREAD, new SystemMessage("by method"));
    await thread.store.put(INBOX, "z", { role: "system", content: "by client" });
    await thread.run(noMessages);
    const role = accepts ? "system" : "human";
    expect((await thread.script()).slice(0, 2)).toEqual([`${role}: by method`, `${role}: by client`]);
    expect(thread.eventTypes().filter((type) => type === "role-changed")).toHaveLength(accepts ? 0 : 1);
  });

  it("of other threads and below the inbox are not read", async () => {
    const thread = steeredThread({ model: fine() });
    await thread.store.put([...INBOX, "deeper"], "1", { role: "user", content: "not for this thread" });
    await thread.graph.steer("2", "not for this thread");
    await thread.say("go");
    expect(await thread.script()).toEqual(lines("human: go | ai: fine"));
  });

  it("can be for a thread whose id has a period", async () => {
    const { graph } = steeredThread({ model: fine() });
    const id = "user@example.com/1";
    await graph.steer(id, "hello");
    expect(pairedScript(await graph.invoke(noMessages, inThread(id)))).toEqual(
      lines("human: hello | ai: fine"),
    );
  });
});

describe("steer", () => {
  it("takes every form of a message that an input takes", async () => {
    const thread = steeredThread({ model: fine() });
    const content = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }];
    await thread.graph.steer(THREAD, "text");
    await thread.graph.steer(THREAD, ["user", "tuple"]);
    await thread.graph.steer(THREAD, { role: "user", content: "object" });
    await thread.graph.steer(THREAD, new HumanMessage({ content, name: "ann", id: "own" }));
    await thread.run(noMessages);
    const messages = await thread.messages();
    expect(script(messages).slice(0, 3)).toEqual(lines("human: text | human: tuple | human: object"));
    expect(messages[3]).toMatchObject({ content, name: "ann" });
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

  it("needs a store, and the setting `steering`", async () => {
    const graph = createAgentGraph({ model: "offline:" });
    await expect(graph.steer(THREAD, "x")).rejects.toThrow(InvalidSettingError);
    await expect(graph.steer(THREAD, "x")).rejects.toThrow("Expected `store` to be a store, because `steer`");
    const { graph: off } = steeredThread({ model: "offline:", steering: false });
    await expect(off.steer(THREAD, "x")).rejects.toThrow("Expected `steering` to be true");
  });
});

it.each([
  ["is one read for each request, and one at the end of the turn", true, 4],
  ["is nothing with `steering: false`", false, 0],
])("the cost %s", async (_title, steering, expected) => {
  let reads = 0;
  class CountingStore extends InMemoryStore {
    override batch: InMemoryStore["batch"] = (operations) => {
      reads += operations.filter((operation) => "namespacePrefix" in operation).length;
      return super.batch(operations);
    };
  }
  const options = { model: scripted(work(), work(), "done"), tools: [acting("work")], steering };
  const thread = steeredThread(options, new CountingStore());
  if (!steering) await thread.store.put(INBOX, "1", { role: "user", content: "ignored" });
  await thread.say("go");
  expect(reads).toBe(expected);
  expect(await thread.script()).not.toContain("human: ignored");
});

it("a store that fails does not end the run", async () => {
  class FailingStore extends InMemoryStore {
    override batch = () => Promise.reject(new Error("The store is down."));
  }
  const thread = steeredThread({ model: fine() }, new FailingStore());
  await thread.say("go");
  expect(await thread.script()).toEqual(lines("human: go | ai: fine"));
  expect(thread.events).toContainEqual(
    expect.objectContaining({ type: "inbox-failed", reason: "The store is down." }),
  );
});

describe("an agent takes its messages", () => {
  const agent = (store: InMemoryStore, act: () => unknown = () => {}, options: Options = { store }) => {
    const steering = createAgentGraph({ model: "offline:", store });
    const tools = [acting("work", () => steering.steer(THREAD, "more").then(act))];
    return createAgentGraph({ model: scripted(work(), "understood"), tools, ...options });
  };

  it.each(
    Object.entries<(store: InMemoryStore) => { invoke(input: never, config: object): Promise<unknown> }>({
      "without a checkpointer": agent,
      "with the checkpointer and the store of a parent": (store) =>
        parentOf(
          agent(store, () => {}, {}),
          { checkpointer: new MemorySaver(), store },
        ),
      "unlike another agent that a tool of the thread runs": (store) => {
        const other = createAgentGraph({ model: scripted("from the other") });
        return agent(store, () => other.invoke({ messages: "well?" }));
      },
    }),
  )("%s", async (_title, make) => {
    const store = new InMemoryStore();
    expect(pairedScript(await make(store).invoke({ messages: "go" } as never, inThread(THREAD)))).toEqual(
      lines("human: go | ai> work | tool: work done", "human: more | ai: understood"),
    );
    expect(await store.search(INBOX)).toEqual([]);
  });
});
