/**
 * Sends a message to an agent while it works. Two clients of one server use the same thread.
 *
 *     npx langgraphjs dev
 *     npx tsx examples/steering.ts
 */

import { randomUUID } from "node:crypto";
import { Client } from "@langchain/langgraph-sdk";

const apiUrl = process.env["SERVER"] ?? "http://localhost:2024";
const [first, second] = [new Client({ apiUrl }), new Client({ apiUrl })];
const { thread_id } = await first.threads.create();
/** The inbox of the thread. The run adds its messages before the next request to the model. */
const inbox = ["langgraph-tether", "inbox", thread_id];

function steer(content: string) {
  return second.store.putItem(inbox, randomUUID(), { role: "user", content }, { index: false });
}

async function run(messages: object[]) {
  const stream = first.runs.stream(thread_id, "agent", {
    input: { messages },
    streamMode: ["updates", "custom"],
  });
  let isSteered = messages.length === 0;
  for await (const { event, data } of stream) {
    // The first response of the model calls a tool. The message comes while that tool runs, or a little later.
    if (event === "updates" && !isSteered) {
      isSteered = true;
      await steer("What is 20 + 22?");
    }
    if (event !== "custom") continue;
    const { type, key } = data as { type: string; key?: string };
    if (type === "message-steered") console.log("steered:", key);
  }
}

await run([{ role: "user", content: "What is 6 * 7?" }]);
// A message can come just after the run has looked for the last time. Then another run answers it.
const { items } = await second.store.searchItems(inbox);
if (items.length > 0) await run([]);

const { values } = await first.threads.getState<{ messages: { type: string; content: string }[] }>(thread_id);
for (const { type, content } of values.messages) console.log(`${type}: ${content}`);
