import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import type { LoopLimits } from "../../settings/loop-limits.js";
import { emitEvent } from "../run/agent-event.js";
import type { Turn } from "../run/agent-state.js";
import { nearBudgets, type Spending } from "../run/budgets.js";
import { addUsage, isUsed, type ThreadUsage } from "../run/thread-usage.js";
import type { Dispatched, ModelCommand } from "./dispatch-calls.js";

/**
 * Adds what a model request has used to the counters of its turn and its thread. Clients are warned when most of a
 * budget is used.
 *
 * @param before The counters before the request.
 * @param tokens The tokens of the request and its response.
 */
export function charge(
  dispatched: Dispatched,
  before: Spending,
  tokens: number,
  limits: LoopLimits,
  config: LangGraphRunnableConfig,
): Dispatched {
  const { command } = dispatched;
  const update = ownUpdate(command);
  const turn: Turn = update.turn ?? before.turn;
  const used: ThreadUsage = { tokens, toolCalls: turn.toolCalls - before.turn.toolCalls };
  const charged: Turn = { ...turn, ...(tokens > 0 && { tokens: (turn.tokens ?? 0) + tokens }) };
  const near = nearBudgets({ turn: charged, thread: addUsage(before.thread, used) }, limits);
  for (const budget of near) emitEvent(config, { type: "limit-near", ...budget });
  const warned = [...(turn.near ?? []), ...near.map(({ limit }) => limit)];
  return {
    ...dispatched,
    command: new Command({
      update: {
        ...update,
        turn: { ...charged, ...(warned.length > 0 && { near: warned }) },
        ...(isUsed(used) && { threadUsage: used }),
      },
      goto: command.goto ?? [],
    }),
  };
}

/** The model node writes objects only. */
function ownUpdate({ update = {} }: ModelCommand) {
  return Array.isArray(update) ? {} : update;
}
