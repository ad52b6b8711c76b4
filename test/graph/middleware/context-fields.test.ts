/** What all middleware contexts have in common: the state, the context of the run, the store and the writer. */

import { InMemoryStore } from "@langchain/langgraph";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  type AgentContext,
  agentMiddleware,
  type ChatContext,
  chatMiddleware,
  type FunctionContext,
  functionMiddleware,
  type Next,
} from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { beforeNext } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import { parentOf } from "../../support/plain-graph.js";
import { user } from "../../support/thread.js";

type AnyContext = AgentContext | ChatContext | FunctionContext;
type Use = (context: AnyContext, place: string) => unknown;

/** An agent whose middleware of each kind uses its context before and after `next()`, for one turn with a call. */
function agent(use: Use, steps = [calls(["fast"]), "done"]) {
  const around = (kind: string) => async (context: AnyContext, next: Next) => {
    await use(context, `${kind}>`);
    await next();
    await use(context, `${kind}<`);
  };
  const middleware = [
    agentMiddleware(around("agent")),
    chatMiddleware(around("chat")),
    functionMiddleware(around("function")),
  ];
  return agentThread(steps, { store: new InMemoryStore(), middleware });
}

describe("every middleware context", () => {
  it("has the state of the thread at that moment", async () => {
    const seen: string[] = [];
    await agent(({ state }, place) => {
      seen.push(`${place} ${state.messages.map(({ type }) => type).join(" ")}`);
    }).invoke();
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
    const note = beforeNext("agent", ({ state, messages }) =>
      seen.push([...state.messages, ...messages].map(({ text, content }) => text ?? content).join(" ")),
    );
    const { invoke } = agentThread(["one", "two"], { middleware: [note] });
    await invoke("first");
    await invoke("second");
    expect(seen).toEqual(["first", "first one second"]);
  });

  it("has the context of the run, and the store", async () => {
    const seen = new Set<unknown>();
    await agent(async ({ context, store, threadId = "" }, place) => {
      await store?.put([threadId], place, { seen: true });
      seen.add(context.systemPrompt);
    }).invoke("go", { context: { systemPrompt: "Be brief." } });
    expect([...seen]).toEqual(["Be brief."]);
  });

  it.each<{ streamMode: ("custom" | "values")[] }>([
    { streamMode: ["custom"] },
    { streamMode: ["custom", "values"] },
    { streamMode: ["values"] },
  ])("writes to the custom stream, in order, if the caller reads it: %j", async ({ streamMode }) => {
    const { graph, config } = agent(({ writer }, place) => {
      writer({ place });
      writer({ place: `${place} again` });
    });
    const chunks = await allOf<[string, object]>(graph.stream(user("go"), { ...config, streamMode }));
    const custom = chunks.flatMap(([mode, value]) => (mode === "custom" ? [value] : []));
    const chat = ["chat>", "chat<"];
    const all = ["agent>", ...chat, "function>", "function<", ...chat, "agent<"];
    const twice = all.flatMap((place) => [place, `${place} again`]);
    const places = custom.flatMap((value) => Reflect.get(value, "place") ?? []);
    expect(places).toEqual(streamMode.includes("custom") ? twice : []);
  });

  it("writes to the custom stream of a parent graph, and as an event stream", async () => {
    const { graph, config } = agent(({ writer }, place) => place.startsWith("agent") && writer({ place }));
    const seen = await allOf(parentOf(graph).stream(user("go"), { ...config, streamMode: "custom" }));
    expect(seen).toMatchObject([{ place: "agent>" }, { place: "agent<" }, { type: "run-end" }]);
    const other = agent(({ writer }, place) => place === "agent>" && writer({ place }));
    const encoding = "text/event-stream";
    const bytes = await allOf<Uint8Array>(
      other.graph.stream(user("go"), { ...config, streamMode: ["custom"], encoding }),
    );
    const text = bytes.map((piece) => new TextDecoder().decode(piece)).join("");
    expect(text).toMatch(/^event: custom\ndata: \{"place":"agent>"\}/);
  });
});

describe("what cannot be changed is an error", () => {
  const CAN = (kind: string) => `A middleware of the kind \`${kind}\` can change: `;

  it.each<[place: string, path: string, says: string]>([
    ["agent>", "threadId", `cannot be changed. ${CAN("agent")}messages, metadata, options, result.`],
    ["agent>", "interrupts", "`context.interrupts` cannot be changed."],
    ["agent>", "message", "`context.message` cannot be changed. Did you mean `messages`?"],
    ["chat>", "signal", `${CAN("chat")}messages, metadata, model, options, result, tools.`],
    ["chat>", "state.messages", "read only"],
    ["chat>", "state.messages.0", "read only"],
    ["chat>", "context.systemPrompt", "not extensible"],
    ["chat>", "tools.0", "read only"],
    ["chat>", "attempt", "`context.attempt` cannot be changed."],
    ["function>", "tool", `${CAN("function")}arguments, metadata, result.`],
    ["function>", "call.args.label", "not extensible"],
    ["function>", "error", "`context.error` cannot be changed."],
  ])("%s %s", async (place, path, says) => {
    const write: Use = (context, where) => {
      if (where !== place) return;
      const names = path.split(".");
      const last = names.pop() ?? "";
      const holder = names.reduce((object: object, name) => Reflect.get(object, name), context);
      Object.assign(holder, { [last]: "x" });
    };
    const { invoke } = agent(write, place === "function>" ? [calls(["fast"])] : []);
    const message = expect.stringContaining(says);
    const name = path.includes(".") ? "TypeError" : "MiddlewareError";
    await expect(invoke()).rejects.toMatchObject({ name, message });
  });
});

it("What a middleware does to the messages of the state does not reach the thread", async () => {
  const content = [{ type: "text", text: "go" }];
  const change: Use = ({ state }) => {
    for (const message of state.messages) {
      if (Array.isArray(message.content)) Object.assign(message.content[0] ?? {}, { text: "changed" });
      Object.assign(message, { content: "changed" });
    }
  };
  const { graph, config } = agent(change);
  await graph.invoke({ messages: [{ role: "user", content }] }, config);
  const { messages } = (await graph.getState(config)).values;
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
  expect(messages[0]?.content).toEqual(content);
  expect(JSON.stringify(messages)).not.toContain("changed");
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
