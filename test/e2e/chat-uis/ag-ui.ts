/** The client of AG-UI, which CopilotKit uses too. It sends all of its messages with each run. */

import { randomUUID } from "node:crypto";
import type { Message } from "@ag-ui/core";
import { LangGraphAgent } from "@ag-ui/langgraph";
import { type Thread, until } from "../served.js";
import { type Chat, isHidden } from "./chat.js";

const ROLES: Readonly<Record<string, string>> = { user: "human", assistant: "ai" };

function lineOf(message: Message): string {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  if (calls.length > 0) return `ai> ${calls.map((call) => call.function.name).join(" ")}`;
  return `${ROLES[message.role] ?? message.role}: ${message.content}`;
}

export function openAgUi(thread: Thread, deploymentUrl: string) {
  const agent = new LangGraphAgent({ deploymentUrl, graphId: thread.graph, threadId: thread.id });
  let isStopped = false;
  return {
    thread,
    agent,
    send: async (content) => {
      // As after a reload: until a run ends, it has parallel calls as one, with the arguments of all, and cannot send it.
      if (isStopped) agent.setMessages([]);
      isStopped = false;
      agent.addMessage({ id: randomUUID(), role: "user", content });
      await agent.runAgent();
    },
    stop: async () => {
      // It cancels a run by the id that it knows, which is its own one until the server's arrives, and never again.
      await until(() => agent.activeRun?.serverRunIdKnown === true);
      agent.abortRun();
      isStopped = true;
    },
    shown: async () => agent.messages.filter((message) => !isHidden(message)).map(lineOf),
    approve: async () => {
      const [{ id: interruptId } = { id: "" }] = await thread.questions();
      const payload = { decisions: [{ type: "approve" }] };
      await agent.runAgent({ resume: [{ interruptId, status: "resolved", payload }] });
    },
    regenerate: async () => {
      agent.setMessages(
        agent.messages.slice(0, agent.messages.findLastIndex(({ role }) => role === "user") + 1),
      );
      await agent.runAgent();
    },
    /** It has no way to send another text in place of a message. */
    edit: async () => {},
  } satisfies Chat & Record<string, unknown>;
}
