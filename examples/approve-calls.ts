/** The questions of a thread on a server, and the decisions of a human. `docs/approvals.md` shows it. */

import type { Client } from "@langchain/langgraph-sdk";
import type { ApprovalRequest, Decision } from "langgraph-tether";

/** What the thread waits for. Also for a page that is opened later. */
export async function questionsOf(client: Client, threadId: string) {
  const { tasks } = await client.threads.getState(threadId);
  return tasks.flatMap(({ interrupts }) => interrupts).map(({ value }) => value as ApprovalRequest);
}

/** `decisions[i]` decides on `action_requests[i]` of the question. */
export function decide(client: Client, threadId: string, assistant: string, decisions: Decision[]) {
  return client.runs.wait(threadId, assistant, { command: { resume: { decisions } } });
}
