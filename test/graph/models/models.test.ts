import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph, ModelError } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type ScriptedModel, scripted } from "../../support/scripted-model.js";
import { pairedScript } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

function createThread({ model }: { model: ScriptedModel }) {
  const graph = createAgentGraph({ model, tools: [createProbe().fast], checkpointer: new MemorySaver() });
  const read = async () => (await graph.getState(config)).values;
  const send = (...messages: BaseMessage[]) => graph.invoke({ messages }, config);
  return { graph, read, send };
}

describe("a model that", () => {
  it("returns an empty response fails with a clear error, and the history is intact", async () => {
    const model = scripted(...Array(4).fill([new AIMessageChunk({ content: "" })]), "better");
    const { send, read } = createThread({ model });
    const error = await send(new HumanMessage("x")).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ModelError);
    expect(String(error)).toContain("response is empty");
    expect(pairedScript(await read())).toEqual(["human: x"]);
    expect(pairedScript(await send(new HumanMessage("y")))).toEqual(["human: x", "human: y", "ai: better"]);
  });

  it("fails reaches the caller with its own error, and the results of its turn stay", async () => {
    const model = scripted(calls(["fast", { label: "1" }]), new Error("503 overloaded"), "better");
    const { send } = createThread({ model });
    await expect(send(new HumanMessage("x"))).rejects.toThrow("503 overloaded");
    expect(pairedScript(await send(new HumanMessage("y")))).toEqual([
      "human: x",
      "ai> fast",
      "tool: fast done 1",
      "human: y",
      "ai: better",
    ]);
  });

  it("repeats the id of an earlier message does not overwrite it", async () => {
    const chunks = (text: string) =>
      text.split(/(?<= )/).map((content) => new AIMessageChunk({ content, id: "same" }));
    const model = scripted(chunks("the first answer"), chunks("the second answer"), chunks("the third"));
    const { send } = createThread({ model });
    await send(new HumanMessage("1"));
    await send(new HumanMessage("2"));
    expect(pairedScript(await send(new HumanMessage("3")))).toEqual([
      "human: 1",
      "ai: the first answer",
      "human: 2",
      "ai: the second answer",
      "human: 3",
      "ai: the third",
    ]);
  });

  it("cannot call tools is refused when there are some", async () => {
    const model = scripted();
    Object.defineProperty(model, "bindTools", { value: undefined });
    const { send } = createThread({ model });
    await expect(send(new HumanMessage("x"))).rejects.toThrow("bindTools");
  });

  it("has nothing to respond to is not called", async () => {
    const { graph } = createThread({ model: scripted() });
    expect(await graph.invoke({ messages: [] }, config)).toEqual({ messages: [] });
    const said = { messages: [new HumanMessage("x"), new AIMessage("y")] };
    expect(pairedScript(await graph.invoke(said, config))).toEqual(["human: x", "ai: y"]);
  });
});

it("A `createModel` that makes something else is named in the error", async () => {
  const createModel = async () => 5 as never;
  const graph = createAgentGraph({ model: "offline:", createModel });
  await expect(graph.invoke({ messages: "hello" })).rejects.toThrow(
    "Expected `createModel` to be a function that resolves to a chat model, got `5`.",
  );
});
