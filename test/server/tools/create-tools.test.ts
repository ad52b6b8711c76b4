import { InMemoryStore, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { expect, it } from "vitest";
import { QUESTIONS } from "../../../server/offline/questions.js";
import { createCurrentTimeTool, createDeployTools } from "../../../server/tools/create-tools.js";
import { OfflineChatModel } from "../../../src/offline/offline-chat-model.js";

it("lists the tools that the offline model knows", () => {
  expect(createDeployTools().map(({ name }) => name)).toEqual([
    "calculator",
    "current_time",
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
  expect(await ask("What is 1/0, and what time is it in Gotham?")).toMatch(
    /calculator failed: .*no finite result[\s\S]*current_time failed: .*Unknown time zone "Gotham"/,
  );
  expect(await ask("search my notes for answer")).toBe("- the answer is 42");
});

const currentTime = createCurrentTimeTool({ now: () => new Date("2026-03-01T22:30:00Z") });

it.each([
  [undefined, "Sunday", "1 March 2026", "22:30:00", "(UTC)"],
  ["Asia/Tokyo", "Monday", "2 March 2026", "07:30:00", "(Asia/Tokyo)"],
  ["America/New_York", "Sunday", "1 March 2026", "17:30:00", "(America/New_York)"],
])("tells the time in %s", async (timezone, ...parts) => {
  const text = await currentTime.invoke({ timezone });
  for (const part of parts) expect(text).toContain(part);
});

it("names an unknown time zone in its error", async () => {
  await expect(currentTime.invoke({ timezone: "Gotham" })).rejects.toThrow(
    'Unknown time zone "Gotham". Expected an IANA name such as "Europe/Paris" or "UTC".',
  );
});

it("reads the clock in each call", async () => {
  const moments = [new Date("2026-01-01T00:00:00Z"), new Date("2026-01-01T00:00:01Z")];
  const ticking = createCurrentTimeTool({ now: () => moments.shift() ?? new Date(0) });
  expect(await ticking.invoke({})).not.toBe(await ticking.invoke({}));
});
