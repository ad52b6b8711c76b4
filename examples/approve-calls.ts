/** The questions of a thread on a server, and the decisions of a human. `docs/approvals.md` shows it. */

import type { Client } from "@langchain/langgraph-sdk";
import type { ApprovalRequest, Decision } from "langgraph-tether";

/** What the thread waits for. Also for a page that is opened later. */
export async function questionsOf(client: Client, threadId: string) {
  const { tasks } = await client.threads.getState<object>(threadId);
  const interrupts = tasks.flatMap((task) => task.interrupts);
  return interrupts.map(({ id = "", value }) => ({ id, request: value as ApprovalRequest }));
}

/** Answers the question with this id. `decisions[i]` decides on `action_requests[i]` of its request. */
export function decide(
  client: Client,
  threadId: string,
  assistant: string,
  id: string,
  decisions: Decision[],
) {
  return client.runs.wait(threadId, assistant, { command: { resume: { [id]: { decisions } } } });
}
