import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createAgent, modelFallbackMiddleware } from "langchain";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { createLook } from "../support/chain-script.js";
import { openAIAt } from "../support/clients.js";
import { type ModelServer, startModelServer } from "../support/model-server.js";
import { MANNERS, openAgent } from "../support/open-thread.js";
import {
  answerFor,
  CALL_TEXT,
  FAULT_CASES,
  hasFault,
  respondToWish,
  shown,
  wish,
} from "../support/stream-faults.js";
import { OLD_PACKAGES, passOverWarnings, stopAtEnd } from "../support/test-tools.js";
import { user } from "../support/thread.js";

// LangChain warns of a call that it cannot read in a response in one piece.
passOverWarnings(OLD_PACKAGES);

const server = stopAtEnd(await startModelServer(respondToWish("look")));

function openThread(fields: object = {}, url = server.url) {
  const { look, looked } = createLook();
  const thread = openAgent({ model: openAIAt(url, { model: "test", ...fields }), tools: [look] });
  return { ...thread, looked };
}

describe.each(MANNERS)("an agent's model that is %s, and whose", (manner) => {
  // Each fault breaks the first of a request's responses.
  let own: ModelServer;
  beforeAll(async () => {
    own = await startModelServer(respondToWish("look"));
  });
  afterAll(() => own.stop());

  const cases = FAULT_CASES.filter(({ fault }) => hasFault(manner, fault));

  it.concurrent.each(cases)("$title: the response is whole, and no call runs twice", async (fault) => {
    const { looked, ...thread } = openThread({}, own.url);
    if (fault.turn === "later") await thread.run(user(wish({ cities: [`before ${fault.cities[0]}`] })));
    const known = fault.turn === "later" ? (await thread.read()).length : 0;
    const { messages, events, error } = await thread.run(user(wish(fault)), { manner });
    const state = await thread.read();

    expect(error).toBeUndefined();
    expect(state.at(-1)?.text).toBe(answerFor(fault.cities));
    expect(shown(messages)).toEqual(shown(state.slice(known)));
    expect(messages.map(({ text }) => text)).toContain(CALL_TEXT);
    for (const city of fault.cities) expect(looked.filter((name) => name === city)).toEqual([city]);
    expect(events.map(({ type }) => type)).toEqual(["response-broken"]);
  });
});

it("A model that does not stream has a whole response too.", async () => {
  const cities = ["Quito"];
  expect((await openThread({ streaming: false }).send(wish({ cities }))).at(-1)?.text).toBe(
    answerFor(cities),
  );
});

it("A run that is an `invoke` has a whole response too.", async () => {
  const cities = ["Lima"];
  const { looked, ...thread } = openThread();
  const state = await thread.send(wish({ cities, fault: "by the end of its body", at: "call" }));
  expect(state.at(-1)?.text).toBe(answerFor(cities));
  expect(looked).toEqual(["Lima"]);
});

describe.each(MANNERS)("after `modelFallbackMiddleware`, if it is %s,", (manner) => {
  it("the model that is asked instead has the guard too", async () => {
    const broken = openAIAt("http://127.0.0.1:1", { model: "away" });
    const model = openAIAt(server.url, { model: "test" });
    const { look, looked } = createLook();
    const middleware = [modelFallbackMiddleware(model), tetherMiddleware()];
    const thread = openAgent({ model: broken, tools: [look], middleware });
    const cities = [`Oslo, ${manner}`];
    const request = wish({ cities, fault: "by the end of its body", at: "call" });
    const { events, error } = await thread.run(user(request), { manner });
    expect(error).toBeUndefined();
    expect((await thread.read()).at(-1)?.text).toBe(answerFor(cities));
    expect(looked).toEqual(cities);
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
