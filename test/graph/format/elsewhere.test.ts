/** A response format together with what else a graph can have: a parent graph, summaries, other models, steps of a run. */

import { END, MemorySaver, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, toolStrategy } from "../../../src/index.js";
import { shortSummariser } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, script, user } from "../../support/thread.js";

const City = z.object({ name: z.string() }).meta({ title: "City" });
const OSLO = { name: "Oslo" };
const RIGHT = `tool: Returning structured response: ${JSON.stringify(OSLO)}`;
const responseFormat = toolStrategy(City);
const right = () => calls(["City", OSLO]);

it("A parent graph gets the structured response if its state has the key.", async () => {
  const agent = createAgentGraph({ model: scripted(right(), right()), responseFormat });
  const parentWith = (fields: object) =>
    new StateGraph(new StateSchema({ messages: MessagesValue, ...fields }))
      .addNode("agent", agent)
      .addEdge(START, "agent")
      .addEdge("agent", END)
      .compile();
  const input = { messages: user("go").messages as never };
  const withKey = await parentWith({ structuredResponse: z.unknown() }).invoke(input);
  expect(Reflect.get(withKey, "structuredResponse")).toEqual(OSLO);
  const without = await parentWith({}).invoke(input);
  expect(Object.keys(without)).toEqual(["messages"]);
  expect(pairedScript(without)).toEqual(["human: go", "ai> City", RIGHT]);
});

it("A history with structured responses is summarised like any other.", async () => {
  const model = scripted(right(), right(), right());
  const graph = createAgentGraph({
    model,
    responseFormat,
    summaryModel: shortSummariser(),
    maxMessagesBeforeSummary: 4,
    messagesToKeep: 1,
    checkpointer: new MemorySaver(),
  });
  for (const text of ["one", "two", "three"]) {
    const { structuredResponse } = await graph.invoke(user(text), inThread("1"));
    expect(structuredResponse).toEqual(OSLO);
  }
  expect(script(model.requests[2]?.messages ?? [])[0]).toContain("short summary");
});

it("A run that is continued before the response ends with it.", async () => {
  const { fast } = createProbe();
  const model = scripted(calls(["fast"]), right());
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model, responseFormat, tools: [fast], checkpointer });
  await graph.invoke(user("go"), { ...inThread("1"), interruptAfter: ["tools"] });
  expect((await graph.getState(inThread("1"))).next).toEqual(["model"]);
  const { structuredResponse } = await graph.invoke(null, inThread("1"));
  expect(structuredResponse).toEqual(OSLO);
});

it("The recursion limit leaves room for the structured response.", async () => {
  const { fast } = createProbe();
  const model = scripted(calls(["fast"]), right());
  const graph = createAgentGraph({ model, responseFormat, tools: [fast], checkpointer: new MemorySaver() });
  const { structuredResponse } = await graph.invoke(user("go"), { ...inThread("1"), recursionLimit: 4 });
  expect(structuredResponse).toEqual(OSLO);
});

it("Two runs of one thread do not mix their structured responses.", async () => {
  const model = scripted(calls(["City", { name: "Oslo" }]), calls(["City", { name: "Rome" }]));
  const graph = createAgentGraph({ model, responseFormat, checkpointer: new MemorySaver() });
  const both = await Promise.all(["one", "two"].map((text) => graph.invoke(user(text), inThread("1"))));
  expect(both.map(({ structuredResponse }) => structuredResponse?.name)).toEqual(["Oslo", "Rome"]);
});

it("`streamEvents` has the structured response in the output of the run.", async () => {
  const graph = createAgentGraph({ model: scripted(right()), responseFormat });
  const ends: unknown[] = [];
  for await (const { event, name, data } of graph.streamEvents(user("go"), { version: "v2" }))
    if (event === "on_chain_end" && name === graph.name) ends.push(data.output.structuredResponse);
  expect(ends).toEqual([OSLO]);
});

it("A run without a new message does not ask the model again.", async () => {
  const model = scripted(right());
  const graph = createAgentGraph({ model, responseFormat, checkpointer: new MemorySaver() });
  await graph.invoke(user("go"), inThread("1"));
  const again = await graph.invoke({ messages: [] }, inThread("1"));
  expect(pairedScript(again)).toEqual(["human: go", "ai> City", RIGHT]);
  expect(model.requests).toHaveLength(1);
});
