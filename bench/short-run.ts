/** Measures short runs of an empty thread: one text response, and one tool call before it. The model responds at once. */

import { type AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import { createAgentGraph } from "../src/index.js";
import { FunctionModel } from "../test/support/function-model.js";
import { calls } from "../test/support/scripted-model.js";

const ROUNDS = Number(process.argv[2] ?? 300);

const look = tool(async () => "found", {
  name: "look",
  description: "Looks.",
  schema: z.object({ place: z.string() }),
});
const createModel = () =>
  new FunctionModel(({ messages }) =>
    messages.at(-1)?.type === "human" && messages.at(-1)?.text === "tool"
      ? calls(["look", { place: "here" }])
      : "Done.",
  );

function createBare() {
  const model = createModel().bindTools([look]);
  return new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode("tools", async ({ messages }) => ({
      messages: await Promise.all(
        ((messages.at(-1) as AIMessage).tool_calls ?? []).map(
          async ({ id = "", args }) =>
            new ToolMessage({ content: await look.invoke(args as { place: string }), tool_call_id: id }),
        ),
      ),
    }))
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls ?? []).length > 0 ? "tools" : END,
    )
    .addEdge("tools", "model")
    .compile();
}

type Invoke = (text: string) => Promise<{ messages: BaseMessage[] }>;

const input = (text: string) => ({ messages: [new HumanMessage(text)] });
const ours = await createAgentGraph({ model: createModel(), tools: [look] });
const agent = createAgent({ model: createModel(), tools: [look] });
const bare = createBare();
const RUNS: Readonly<Record<string, Invoke>> = {
  StateGraph: (text) => bare.invoke(input(text)),
  createAgent: (text) => agent.invoke(input(text)) as Promise<{ messages: BaseMessage[] }>,
  createAgentGraph: (text) => ours.invoke(input(text)) as Promise<{ messages: BaseMessage[] }>,
};

const median = (times: readonly number[]) =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;

for (const [text, length] of [
  ["text", 2],
  ["tool", 4],
] as const) {
  const times = new Map(Object.keys(RUNS).map((name) => [name, [] as number[]]));
  // The first rounds compile the code.
  for (let round = -ROUNDS / 2; round < ROUNDS; round += 1) {
    for (const [name, run] of Object.entries(RUNS)) {
      const start = performance.now();
      const { messages } = await run(text);
      const taken = performance.now() - start;
      if (messages.length !== length) throw new Error(`Expected ${length} messages, got ${messages.length}.`);
      if (round >= 0) times.get(name)?.push(taken);
    }
  }
  const of = (name: string) => median(times.get(name) ?? []);
  console.log(`A run with one ${text === "tool" ? "tool call" : "text response"}, the median of ${ROUNDS}:`);
  console.table(
    Object.keys(RUNS).map((name) => ({
      run: name,
      ms: Number(of(name).toFixed(2)),
      "to createAgent": Number((of(name) / of("createAgent")).toFixed(2)),
      "to StateGraph": Number((of(name) / of("StateGraph")).toFixed(2)),
    })),
  );
}
