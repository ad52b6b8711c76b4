/** Threads of LangChain's `createAgent` that are broken in the ways that people report most. */

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { type AgentMiddleware, createAgent, humanInTheLoopMiddleware, tool } from "langchain";
import { z } from "zod";
import { FunctionModel } from "../../support/models.js";
import { inThread, user } from "../../support/thread.js";

const pay = tool(async () => "paid", {
  name: "pay",
  description: "Pays somebody.",
  schema: z.object({ amount: z.number() }),
});

const call = (id: string, name: string, args: object) => ({ id, name, args, type: "tool_call" as const });
const ofOpenAi = { response_metadata: { model_provider: "openai", model_name: "gpt-4o-mini" } };

/** A call whose arguments were cut, as the client of OpenAI stores it. */
const cutCall = (id: string, name: string, args: string) => ({
  invalid_tool_calls: [{ id, name, args, error: "Malformed args.", type: "invalid_tool_call" as const }],
  additional_kwargs: { tool_calls: [{ id, type: "function" as const, function: { name, arguments: args } }] },
});

/** Turns without a fault, so that the fault is not on the first page by chance. */
function turns(count: number) {
  return Array.from({ length: count }, (_, turn) => [
    new HumanMessage({ id: `h${turn}`, content: `Question ${turn}: what is ${turn} + ${turn}?` }),
    new AIMessage({ id: `a${turn}`, content: `It is ${turn + turn}.`, ...ofOpenAi }),
  ]).flat();
}

const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Messages with the fault of each kind. The agent has stored them. */
const storedFaults = () => ({
  "cut by a summary": [
    new HumanMessage({ id: "summary", content: "Here is a summary of the conversation to date: …" }),
    new ToolMessage({ id: "fault", tool_call_id: "c1", name: "weather", content: "18 °C in Rome." }),
    new AIMessage({ id: "b", content: "It is 18 °C in Rome.", ...ofOpenAi }),
    ...turns(30),
  ],
  "broken arguments": [
    ...turns(15),
    new HumanMessage({ id: "q", content: "Is it warm in Rome?" }),
    new AIMessage({
      id: "fault",
      content: "",
      ...cutCall("c1", "weather", '{"city": "Ro'),
      ...ofOpenAi,
    }),
    ...turns(15).map((message) => Object.assign(message, { id: `z${message.id}` })),
  ],
  "an orphan result": [
    ...turns(15),
    new ToolMessage({ id: "fault", tool_call_id: "c9", name: "weather", content: "18 °C in Rome." }),
    new AIMessage({ id: "b", content: "It is 18 °C in Rome.", ...ofOpenAi }),
    ...turns(15).map((message) => Object.assign(message, { id: `z${message.id}` })),
  ],
});

/** An agent with one thread of each kind. Two of its runs are real: one is cancelled, one waits for a human. */
export async function brokenThreads() {
  const asks = { Rome: call("c1", "weather", { city: "Rome" }), bill: call("c2", "pay", { amount: 30 }) };
  const model = new FunctionModel(({ text }) => {
    if (text.includes("picture"))
      return new Error("400 Invalid content type. image_url is only supported by certain models.");
    const [, asked] = Object.entries(asks).find(([word]) => text.includes(word)) ?? [];
    return new AIMessage({ content: "", tool_calls: asked === undefined ? [] : [asked], ...ofOpenAi });
  });
  const ending = new AbortController();
  const weather = tool(
    () => {
      ending.abort();
      return new Promise<string>(() => {});
    },
    { name: "weather", description: "The weather in a city.", schema: z.object({ city: z.string() }) },
  );
  const approvals = humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never);
  const agent = createAgent({
    model,
    tools: [weather, pay],
    checkpointer: new MemorySaver(),
    middleware: [approvals as unknown as AgentMiddleware],
  });
  const cancelled = { ...inThread("cancelled in a tool"), signal: ending.signal };
  await agent.invoke(user("Is it warm in Rome?"), cancelled).catch(() => {});
  await agent.invoke(user("Pay the bill."), inThread("waiting for approval"));
  const picture = [
    { type: "text", text: "What is in this picture?" },
    { type: "image_url", image_url: { url: `data:image/png;base64,${PICTURE}` } },
  ];
  await agent
    .invoke(
      { messages: [...turns(15), new HumanMessage({ id: "fault", content: picture })] },
      inThread("a refused picture"),
    )
    .catch(() => {});
  for (const [name, messages] of Object.entries(storedFaults()))
    await agent.graph.updateState(inThread(name), { messages }, "model_request");
  return agent.graph;
}
