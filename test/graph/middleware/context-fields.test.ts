/** What all middleware contexts have in common: the state, the context of the run, the store and the writer. */

import { InMemoryStore, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  type AgentContext,
  agentMiddleware,
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  type FunctionContext,
  functionMiddleware,
  type Next,
  PairedMessagesValue,
} from "../../../src/index.js";
import { allOf } from "../../support/all-of.js";
import { FunctionModel } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { user } from "../../support/thread.js";

type AnyContext = AgentContext | ChatContext | FunctionContext;
type Use = (context: AnyContext, place: string) => unknown;

const config = { configurable: { thread_id: "1" } };

/** An agent whose middleware of each kind uses its context before and after `next()`, for one turn with a call. */
function agent(use: Use) {
  const around = (kind: string) => async (context: AnyContext, next: Next) => {
    await use(context, `${kind}>`);
    await next();
    await use(context, `${kind}<`);
  };
  return createAgentGraph({
    model: new FunctionModel(({ messages }) => (messages.at(-1)?.type === "tool" ? "done" : calls(["fast"]))),
    tools: [createProbe().fast],
    checkpointer: new MemorySaver(),
    store: new InMemoryStore(),
    middleware: [
      agentMiddleware(around("agent")),
      chatMiddleware(around("chat")),
      functionMiddleware(around("function")),
    ],
  });
}

describe("every middleware context", () => {
  it("has the state of the thread at that moment", async () => {
    const seen: string[] = [];
    await agent(({ state }, place) => {
      seen.push(`${place} ${state.messages.map(({ type }) => type).join(" ")}`);
    }).invoke(user("go"), config);
    expect(seen).toEqual([
      "agent> ",
      "chat> human",
      "chat< human",
      "function> human ai",
      "function< human ai",
      "chat> human ai tool",
      "chat< human ai tool",
      "agent< human ai tool ai",
    ]);
  });

  it("has the thread's earlier messages before a run", async () => {
    const seen: string[] = [];
    const graph = createAgentGraph({
      model: scripted("one", "two"),
      checkpointer: new MemorySaver(),
      middleware: [
        agentMiddleware(async ({ state, messages }, next) => {
          seen.push(
            [...state.messages, ...messages].map((message) => message.text ?? message.content).join(" "),
          );
          await next();
        }),
      ],
    });
    await graph.invoke(user("first"), config);
    await graph.invoke(user("second"), config);
    expect(seen).toEqual(["first", "first one second"]);
  });

  it("has the context of the run, and the store", async () => {
    const seen = new Set<unknown>();
    await agent(async ({ context, store, threadId = "" }, place) => {
      await store?.put([threadId], place, { seen: true });
      seen.add(context.systemPrompt);
    }).invoke(user("go"), { ...config, context: { systemPrompt: "Be brief." } });
    expect([...seen]).toEqual(["Be brief."]);
  });

  it.each(["custom", ["custom", "values"], ["values"]] as const)(
    "writes to the custom stream, in order, if the caller reads it: %j",
    async (streamMode) => {
      const graph = agent(({ writer }, place) => {
        writer({ place });
        writer({ place: `${place} again` });
      });
      const places: string[] = [];
      const modes = streamMode === "custom" ? streamMode : [...streamMode];
      for await (const chunk of await graph.stream(user("go"), { ...config, streamMode: modes })) {
        const [mode, value] = Array.isArray(chunk) ? chunk : ["custom", chunk];
        const place: unknown = Reflect.get(Object(value), "place");
        if (mode === "custom" && typeof place === "string") places.push(place);
      }
      const chat = ["chat>", "chat<"];
      const all = ["agent>", ...chat, "function>", "function<", ...chat, "agent<"];
      const twice = all.flatMap((place) => [place, `${place} again`]);
      expect(places).toEqual(modes.includes("custom") ? twice : []);
    },
  );

  it("writes to the custom stream of a parent graph, and as an event stream", async () => {
    const graph = agent(({ writer }, place) => place.startsWith("agent") && writer({ place }));
    const parent = new StateGraph(new StateSchema({ messages: PairedMessagesValue }))
      .addNode("agent", graph as never)
      .addEdge(START, "agent")
      .compile();
    const seen = await allOf(parent.stream(user("go"), { ...config, streamMode: "custom" }));
    expect(seen).toMatchObject([{ place: "agent>" }, { type: "run-end" }, { place: "agent<" }]);
    const other = agent(({ writer }, place) => place === "agent>" && writer({ place }));
    let text = "";
    const bytes = await other.stream(user("go"), {
      ...config,
      streamMode: ["custom"],
      encoding: "text/event-stream",
    });
    for await (const piece of bytes) text += new TextDecoder().decode(piece as Uint8Array);
    expect(text).toMatch(/^event: custom\ndata: \{"place":"agent>"\}/);
  });
});

describe("what cannot be changed is an error that names it", () => {
  const write = (place: string, path: string, value: unknown) =>
    agent((context, where) => {
      if (where !== place) return;
      const names = path.split(".");
      const last = names.pop() ?? "";
      const holder = names.reduce((object: object, name) => Reflect.get(object, name), context);
      Reflect.set(holder, last, value);
    });

  it.each<[place: string, path: string, says: string]>([
    [
      "agent>",
      "threadId",
      "`context.threadId` cannot be changed. A middleware of the kind `agent` can change: messages, metadata, options, result.",
    ],
    ["agent>", "interrupts", "`context.interrupts` cannot be changed."],
    ["agent>", "state.messages", "`context.state.messages` cannot be changed."],
    ["agent>", "message", "`context.message` cannot be changed. Did you mean `messages`?"],
    [
      "chat>",
      "signal",
      "A middleware of the kind `chat` can change: messages, metadata, model, options, result, tools.",
    ],
    ["chat>", "state.messages.0.content", "`context.state.messages[0].content` cannot be changed."],
    ["chat>", "context.systemPrompt", "`context.context.systemPrompt` cannot be changed."],
    ["chat>", "tools.0", "`context.tools[0]` cannot be changed. Set it to another list."],
    ["chat>", "attempt", "`context.attempt` cannot be changed."],
    ["function>", "tool", "A middleware of the kind `function` can change: arguments, metadata, result."],
    ["function>", "call.args.label", "`context.call.args.label` cannot be changed. Set `context.arguments`."],
    ["function>", "error", "`context.error` cannot be changed."],
  ])("%s %s", async (place, path, says) => {
    const graph = write(place, path, "x");
    await graph.invoke(user("go"), config).then(
      () => expect.unreachable(),
      (error: Error) => {
        expect(error.name).toBe("MiddlewareError");
        expect(error.message).toContain(says);
      },
    );
  });
});

it("The state and the context of the run can be typed", () => {
  interface State {
    readonly plan: string;
  }
  chatMiddleware<State, { readonly userId: string }>(async ({ state, context }, next) => {
    expectTypeOf(state.plan).toEqualTypeOf<string>();
    expectTypeOf(context.userId).toEqualTypeOf<string>();
    await next();
  });
  functionMiddleware(async ({ state, context, tool }, next) => {
    expectTypeOf(state.messages.length).toEqualTypeOf<number>();
    expectTypeOf(context["userId"]).toEqualTypeOf<unknown>();
    expectTypeOf(context.systemPrompt).toEqualTypeOf<string | undefined>();
    expectTypeOf(tool?.name).toEqualTypeOf<string | undefined>();
    await next();
  });
});
