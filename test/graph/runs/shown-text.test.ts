/** The text that clients were shown of a response whose run was aborted is in the thread with the next message. */

import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { MARKS } from "../../../src/history/marks.js";
import { chatMiddleware, createAgentGraph } from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import { turns } from "../../support/async.js";
import { type Halt, HaltingModel, type Piece } from "../../support/halting-model.js";
import { lines } from "../../support/lines.js";
import { openAgentThread, openThread } from "../../support/open-thread.js";
import { script, user } from "../../support/thread.js";
import { createProbe } from "../../support/tools.js";

type Durability = "async" | "sync" | "exit";

interface Setup {
  readonly durability?: Durability;
  readonly options?: object;
}

/** A run of a thread whose client reads the stream, and one that it cancels where the model halts. */
const AGENTS = {
  createAgentGraph: (model: HaltingModel, { durability = "async", options }: Setup) => {
    const saver = new MemorySaver();
    const graph = createAgentGraph({ model, tools: [createProbe().fast], checkpointer: saver, ...options });
    const { read, send } = openThread(graph, "1", { durability });
    return { graph, saver, read, send: (text: string | null, signal?: AbortSignal) => send(text, signal) };
  },
  tetherMiddleware: (model: HaltingModel, { durability = "async", options }: Setup) => {
    const saver = new MemorySaver();
    const middleware = [tetherMiddleware()];
    const tools = [createProbe().fast];
    const agent = createAgent({ model, tools, checkpointer: saver, middleware, ...options } as never);
    const { read, run } = openAgentThread(agent as never);
    const send = (text: string | null, signal?: AbortSignal) =>
      run(text === null ? null : user(text), { durability, ...(signal && { signal }) });
    return { graph: agent.graph, saver, read, send };
  },
} as const;

function open(
  name: keyof typeof AGENTS,
  responses: readonly (readonly (Piece | "halt")[])[],
  setup: Setup = {},
) {
  const controller = new AbortController();
  const halt: Halt = async () => {
    // The client reads what has come.
    await turns();
    controller.abort();
    await new Promise(() => {});
  };
  const model = new HaltingModel(
    ...responses.map((pieces) => pieces.map((piece) => (piece === "halt" ? halt : piece))),
  );
  const thread = AGENTS[name](model, setup);
  const { signal } = controller;
  return { ...thread, model, signal, cancelled: (text: string | null) => thread.send(text, signal) };
}

const CUT = ["The answer ", "is 4", "halt"] as const;
const kinds = (events: readonly { readonly type: string }[]) =>
  events.map(({ type }) => type).filter((type) => type !== "run-end");

const NAMES = Object.keys(AGENTS) as (keyof typeof AGENTS)[];

describe.each(NAMES)("the text of a cancelled response, %s,", (name) => {
  it.each(["async", "sync", "exit"] as const)("stands before the next message (%s)", async (durability) => {
    const { cancelled, send, read, model } = open(name, [CUT, ["42."]], { durability });
    const shown = await cancelled("What is it?");
    expect(shown.messages.map(({ text }) => text)).toEqual(["The answer is 4"]);
    const { events, parts } = await send("Sorry?");
    expect(kinds(events)).toEqual(["response-recovered"]);
    const messages = await read();
    expect(script(messages)).toEqual(
      lines("human: What is it? | ai: The answer is 4 | human: Sorry? | ai: 42."),
    );
    expect(messages[1]).toMatchObject({
      id: shown.messages[0]?.id,
      additional_kwargs: { [MARKS.interrupted]: true },
    });
    // The client has it, and the model is shown it.
    expect(parts.map(({ text }) => text).join("")).toBe("42.");
    expect(model.asked[1]?.map(({ text }) => text)).toEqual(["What is it?", "The answer is 4", "Sorry?"]);
    await send("And now?");
    expect(script(await read()).filter((line) => line.includes("is 4"))).toHaveLength(1);
  });

  it("is not added to a run that goes on, where the model answers anew", async () => {
    const { cancelled, send, read } = open(name, [CUT, ["It is 42."], ["Yes."]]);
    await cancelled("What is it?");
    await send(null);
    await send("Sure?");
    expect(script(await read())).toEqual(
      lines("human: What is it? | ai: It is 42. | human: Sure? | ai: Yes."),
    );
  });

  it("is without the calls that were streamed with it, and without reasoning", async () => {
    const call = {
      tool_call_chunks: [{ id: "c", name: "fast", args: '{"', index: 0, type: "tool_call_chunk" }],
    };
    const thought = { additional_kwargs: { reasoning_content: "Hm." } };
    const { cancelled, send, read } = open(name, [[thought, "Let me see.", call, "halt"], ["No."]]);
    await cancelled("What is it?");
    await send("Never mind.");
    const [, cut] = await read();
    expect(cut).toMatchObject({ type: "ai", content: "Let me see.", tool_calls: [] });
    expect(cut?.additional_kwargs).toEqual({ [MARKS.interrupted]: true, [MARKS.recovered]: {} });
  });

  it.each([
    [
      "of a response that has only begun to think",
      [{ additional_kwargs: { reasoning_content: "Hm." } }, "halt"],
    ],
    ["of one that has not begun", ["halt"]],
  ] as const)("leaves nothing %s", async (_title, pieces) => {
    const { cancelled, send, read } = open(name, [pieces, ["No."]]);
    await cancelled("What is it?");
    await send("Never mind.");
    expect(script(await read())).toEqual(lines("human: What is it? | human: Never mind. | ai: No."));
  });

  it("is not in a branch from before it, nor in another one from the same checkpoint", async () => {
    const { graph, cancelled, send, read } = open(name, [["Hello!"], CUT, ["42."], ["Branch."], ["Branch."]]);
    await send("Hi.");
    const config = { configurable: { thread_id: "1" } };
    const before = (await graph.getState(config as never)).config;
    await cancelled("What is it?");
    const cut = (await graph.getState(config as never)).config;
    await send("Sorry?");
    expect(script(await read())).toContain("ai: The answer is 4");
    for (const from of [before, cut]) {
      const { messages } = (await graph.invoke(user("Back.") as never, from as never)) as {
        messages: BaseMessage[];
      };
      expect(script(messages)).not.toContain("ai: The answer is 4");
    }
  });

  it("is not kept if nobody listens", async () => {
    const { graph, read, send, signal } = open(name, [CUT, ["42."]]);
    // A program that counts tokens is no client.
    const config = { configurable: { thread_id: "1" }, signal, callbacks: [{ handleLLMEnd: () => {} }] };
    await expect(graph.invoke(user("What is it?") as never, config as never)).rejects.toThrow(/abort/i);
    await send("Sorry?");
    expect(script(await read())).toEqual(lines("human: What is it? | human: Sorry? | ai: 42."));
  });

  it("is not what was taken back, because the response broke and another one came", async () => {
    const controller = new AbortController();
    const fails = (words: string) => () => Promise.reject(new Error(words));
    const model = new HaltingModel(["The answer ", fails("socket hang up")], [fails("no more")]);
    const { send, read } = AGENTS[name](model, {});
    // The second request, which is not streamed, fails for good. The run fails, and the client has nothing of it.
    const failed = await send("What is it?", controller.signal);
    expect([failed.messages, failed.error]).toEqual([[], expect.any(Error)]);
    await send("Sorry?");
    expect(script(await read())).toEqual(lines("human: What is it? | human: Sorry? | ai: Done."));
  });
});

it("A response that a chat middleware has discarded is not shown text", async () => {
  const again = chatMiddleware(
    async (_context, next) => {
      await next();
      await next();
    },
    { retry: true },
  );
  const { cancelled, send, read } = open("createAgentGraph", [["Draft."], CUT, ["42."]], {
    options: { middleware: [again] },
  });
  await cancelled("What is it?");
  await send("Sorry?");
  expect(script(await read())[1]).toBe("human: Sorry?");
});

it("An agent of LangChain does not take its own input for a lost one, although nothing later is saved yet", async () => {
  const { saver, cancelled, send, read, model } = open("tetherMiddleware", [CUT, ["42."]]);
  await cancelled("What is it?");
  const asked = model.asked.length;
  const put = saver.put.bind(saver);
  saver.put = async (...given) => {
    const [, , { source }] = given;
    if (source !== "input")
      await expect.poll(() => model.asked.length, { interval: 1 }).toBeGreaterThan(asked);
    return put(...given);
  };
  await send("Sorry?");
  expect(script(await read())).toEqual(
    lines("human: What is it? | ai: The answer is 4 | human: Sorry? | ai: 42."),
  );
});
