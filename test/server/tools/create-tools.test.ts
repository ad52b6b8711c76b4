import { InMemoryStore, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { expect, it } from "vitest";
import { QUESTIONS } from "../../../server/offline/questions.js";
import { createDeployTools } from "../../../server/tools/create-tools.js";
import { OfflineChatModel } from "../../support/internals.js";

it("lists the tools that the offline model knows", () => {
  expect(createDeployTools().map(({ name }) => name)).toEqual([
    "calculator",
    "weather",
    "save_note",
    "search_notes",
  ]);
});

it("works with the offline model in a graph, over several turns", async () => {
  const tools = createDeployTools();
  const model = new OfflineChatModel({ language: QUESTIONS }).bindTools(tools);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "model")
    .addConditionalEdges("model", toolsCondition)
    .addEdge("tools", "model")
    .compile({ checkpointer: new MemorySaver(), store: new InMemoryStore() });
  const ask = async (content: string) => {
    const thread = { configurable: { thread_id: "1" } };
    const { messages } = await graph.invoke({ messages: [{ role: "user", content }] }, thread);
    return messages.at(-1)?.text;
  };

  expect(await ask("calculate 6*7 then save a note: the answer is 42")).toBe(
    "Here is what the tools returned:\n- 6*7 = 42\n- Saved the note: the answer is 42",
  );
  expect(await ask("What is 1/0, and what is 2^3?")).toMatch(
    /calculator failed: .*no finite result[\s\S]*2\^3 = 8/,
  );
  expect(await ask("search my notes for answer")).toBe("- the answer is 42");
});
