import type { AIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { type AgentState, isPrivateChannel } from "../run/agent-state.js";
import type { ApprovalScene } from "./call-policy.js";

/** What the functions of an approval rule see: the state with the response in it, and the run. */
export function approvalScene(
  state: AgentState,
  message: AIMessage,
  config: LangGraphRunnableConfig,
): ApprovalScene {
  const shown = Object.entries(state).filter(([name, value]) => !isPrivateChannel(name, value));
  const { context, store, writer, signal, configurable } = config;
  return {
    state: { ...Object.fromEntries(shown), messages: [...state.messages, message] },
    runtime: {
      context,
      ...(store !== undefined && { store }),
      ...(writer !== undefined && { writer }),
      ...(signal !== undefined && { signal }),
      ...(configurable !== undefined && { configurable: publicFields(configurable) }),
    },
  };
}

/** LangGraph keeps its own objects under names that begin with `__`, as does the run handle. */
function publicFields(configurable: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(configurable).filter(([name]) => !name.startsWith("__")));
}
