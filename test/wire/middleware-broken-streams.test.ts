import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createAgent, modelFallbackMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { createLook } from "../support/chain-script.js";
import { openAIAt } from "../support/clients.js";
import { startModelServer } from "../support/model-server.js";
import { openAgent } from "../support/open-thread.js";
import { answerFor, CALL_TEXT, FAULT_CASES, respondToWish, shown, wish } from "../support/stream-faults.js";
import { stopAtEnd } from "../support/test-tools.js";
import { user } from "../support/thread.js";

const { look, looked } = createLook();

const server = stopAtEnd(await startModelServer(respondToWish("look")));

const openThread = (fields: object = {}) =>
  openAgent({ model: openAIAt(server.url, { model: "test", ...fields }), tools: [look] });

describe("a stream of an agent's model whose", () => {
  it.concurrent.each(FAULT_CASES)("$title: the response is whole, and no call runs twice", async (fault) => {
    const thread = openThread();
    if (fault.turn === "later") await thread.run(user(wish({ cities: [`before ${fault.cities[0]}`] })));
    const known = fault.turn === "later" ? (await thread.read()).length : 0;
    const { messages, events, error } = await thread.run(user(wish(fault)));
    const state = await thread.read();

    expect(error).toBeUndefined();
    expect(state.at(-1)?.text).toBe(answerFor(fault.cities));
    expect(shown(messages)).toEqual(shown(state.slice(known)));
    expect(messages.map(({ text }) => text)).toContain(CALL_TEXT);
    for (const city of fault.cities) expect(looked.filter((name) => name === city)).toEqual([city]);
    expect(events.map(({ type }) => type)).toEqual(["response-broken"]);
  });

  it.concurrent("run does not stream: a response in one piece is whole too", async () => {
    const thread = openThread({ streaming: false });
    const cities = ["Quito"];
    expect((await thread.send(wish({ cities }))).at(-1)?.text).toBe(answerFor(cities));
  });

  it.concurrent("run is an `invoke`: the response is whole", async () => {
    const cities = ["Lima"];
    const fault = FAULT_CASES.find(({ at }) => at === "call");
    const state = await openThread().send(JSON.stringify({ cities, fault: fault?.fault, at: "call" }));
    expect(state.at(-1)?.text).toBe(answerFor(cities));
    expect(looked.filter((name) => name === "Lima")).toEqual(["Lima"]);
  });
});

describe("after `modelFallbackMiddleware`", () => {
  it("the model that is asked instead has the guard too", async () => {
    const broken = openAIAt("http://127.0.0.1:1", { model: "away" });
    const model = openAIAt(server.url, { model: "test" });
    const middleware = [modelFallbackMiddleware(model), tetherMiddleware()];
    const thread = openAgent({ model: broken, tools: [look], middleware });
    const fault = FAULT_CASES.find(({ at }) => at === "call");
    const cities = ["Oslo"];
    const { events, error } = await thread.run(user(wish({ ...fault, cities })));
    expect(error).toBeUndefined();
    expect((await thread.read()).at(-1)?.text).toBe(answerFor(cities));
    expect(looked.filter((name) => name === "Oslo")).toEqual(["Oslo"]);
    expect(events.map(({ type }) => type)).toEqual(["response-broken"]);
  });
});

it("A model that has only `invoke` is asked with it.", async () => {
  const model = {
    invoke: async () => new AIMessage("Hi."),
    bindTools: () => model,
    _streamResponseChunks: null,
  };
  const agent = createAgent({ model: model as never, middleware: [tetherMiddleware()] });
  const { messages } = await agent.invoke({ messages: "Hello?" } as never);
  expect(messages.map(({ text }: BaseMessage) => text)).toEqual(["Hello?", "Hi."]);
});
