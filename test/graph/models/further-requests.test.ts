/** A turn of many steps, each of which brings something that the provider refuses: what it costs, and that it goes on. */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { expect, it } from "vitest";
import { z } from "zod";
import { askModel, createAgentGraph } from "../../../src/index.js";
import { calls, FunctionModel } from "../../support/models.js";
import { openAgent, openThread } from "../../support/open-thread.js";
import { inThread, user } from "../../support/thread.js";

const pictureAt = (url: string) => ({ type: "image_url", image_url: { url } });
const textAndPicture = (text: string, url: string) => [{ type: "text" as const, text }, pictureAt(url)];
const GOOD = "https://example.com/good.png";

const look = tool(({ place }) => textAndPicture(`seen ${place}`, `https://example.com/bad${place}.png`), {
  name: "look",
  description: "Looks.",
  schema: z.object({ place: z.number() }),
});

const STEPS = 6;

const isOver = (messages: readonly BaseMessage[]) =>
  messages.some(({ type, text }) => type === "human" && text.includes("Thanks."));

/** Each of its steps takes a picture that it refuses afterwards, by its address. */
function openModel() {
  const refused: string[] = [];
  const model = new FunctionModel(({ messages }) => {
    const sent = JSON.stringify(messages.map(({ content }) => content));
    const [, bad] = /"url":"(https:\/\/example.com\/bad\d.png)"/.exec(sent) ?? [];
    if (bad !== undefined) {
      refused.push(bad);
      return Object.assign(new Error(`400 Error while downloading ${bad}.`), { status: 400 });
    }
    const place = sent.split("seen ").length - 1;
    return isOver(messages) || place === STEPS ? "Fine." : calls(["look", { place }]);
  });
  return { model, refused };
}

const config = inThread("1");
const next = new HumanMessage({ content: textAndPicture("Thanks.", GOOD) });

/** Each runs a turn, and tells how the thread ends. */
const PLACES = {
  graph: (model: FunctionModel) => {
    const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver() });
    const { send, read } = openThread(graph);
    return { send, read };
  },
  middleware: (model: FunctionModel) => {
    const { run, read } = openAgent({ model, tools: [look] });
    return { send: (input: string | object) => run(typeof input === "string" ? user(input) : input), read };
  },
  "own graph": (model: FunctionModel) => {
    const bound = model.bindTools([look]);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", async ({ messages }, given) => ({
        messages: [await askModel(bound, messages, { config: given })],
      }))
      .addNode("tools", new ToolNode([look]))
      .addEdge("__start__", "model")
      .addConditionalEdges("model", toolsCondition, ["tools", "__end__"])
      .addEdge("tools", "model")
      .compile({ checkpointer: new MemorySaver() });
    const send = async (input: string | object) => {
      const error: unknown = await graph.invoke(typeof input === "string" ? user(input) : input, config).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      return { error };
    };
    return { send, read: async () => (await graph.getState(config)).values.messages as BaseMessage[] };
  },
} as const;

it.each(Object.entries(PLACES))(
  "%s: a turn has three further requests at most, and the last of them helps its later steps too",
  async (_place, open) => {
    const { model, refused } = openModel();
    const { send, read } = open(model);
    expect((await send("Go on.")).error).toBeUndefined();
    expect(refused).toEqual([0, 1, 2].map((place) => `https://example.com/bad${place}.png`));
    expect(model.requests).toHaveLength(STEPS + 1 + 3);
    const stored = await read();
    expect(stored.filter(({ type }) => type === "tool")).toHaveLength(STEPS);
    expect(JSON.stringify(stored)).toContain("https://example.com/bad5.png");
    expect(stored.at(-1)).toBeInstanceOf(AIMessage);

    // A new turn shows the pictures of its user, and none of those before.
    expect((await send({ messages: [next] })).error).toBeUndefined();
    expect(refused).toHaveLength(3);
    expect(model.requests).toHaveLength(STEPS + 1 + 3 + 1);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(GOOD);
  },
);

it.each([PLACES.graph, PLACES.middleware])(
  "After three further requests, another refusal of the same turn is the run's error",
  async (open) => {
    let refusals = 0;
    const model = new FunctionModel(({ messages }) => {
      if (messages.at(-1)?.type === "human") return calls(["look", { place: 0 }]);
      refusals += 1;
      return Object.assign(new Error(`400 Rule ${refusals}`), { status: 400 });
    });
    const { send } = open(model);
    expect(String((await send("Go on.")).error)).toContain("Rule 1");
    const first = model.requests.length;
    expect(first).toBeLessThanOrEqual(5);
    // A new message of the user begins a new turn.
    const { error } = await send("Go on.");
    expect(String(error)).not.toContain("Rule 1 ");
    expect(model.requests.length - first).toBeLessThanOrEqual(5);
  },
);
