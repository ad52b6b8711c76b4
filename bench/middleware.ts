/**
 * What a middleware adds to a model call of LangChain's `createAgent`, at several lengths of the history: nothing,
 * deepagents' `createPatchToolCallsMiddleware`, which closes calls once a turn, and `tetherMiddleware`. The model and the
 * tool take no time. The agents take turns in one run, because the machine is not always as fast.
 */

import {
  AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createPatchToolCallsMiddleware } from "deepagents";
import { createAgent } from "langchain";
import { z } from "zod";
import { tetherMiddleware } from "../src/langchain.js";
import type { AnyAgent } from "../test/support/open-agent-thread.js";
import { PlayedModel, wholeChunk } from "../test/support/played-model.js";

const SIZES = [100, 1_000];
/** Model calls of one turn. Each but the last calls the tool. */
const CALLS = 10;
const SAMPLES = 21;

class FastModel extends PlayedModel {
  protected override async play(messages: readonly BaseMessage[]): Promise<readonly AIMessageChunk[]> {
    const start = messages.findLastIndex(({ type }) => type === "human");
    const done = messages.length - start - 1;
    const call = { id: `call-${done}`, name: "look", args: {}, type: "tool_call" as const };
    const isLast = done >= 2 * (CALLS - 1);
    return [wholeChunk(new AIMessage(isLast ? "Done." : { content: "", tool_calls: [call] }))];
  }
}

const look = tool(() => "clear", { name: "look", description: "Looks.", schema: z.object({}) });
const agentWith = (...middleware: unknown[]) =>
  createAgent({
    model: new FastModel(),
    tools: [look],
    middleware: middleware as never,
  }) as unknown as AnyAgent;
const AGENTS = {
  "createAgent alone": agentWith(),
  "with deepagents' patch": agentWith(createPatchToolCallsMiddleware()),
  "with tetherMiddleware": agentWith(tetherMiddleware()),
};
type Name = keyof typeof AGENTS;
const NAMES = Object.keys(AGENTS) as Name[];

/** Turns of a user message, a response with a tool call, its result, and a text. */
function createHistory(size: number): BaseMessage[] {
  const turns = Array.from({ length: size / 4 }, (_, turn) => [
    new HumanMessage({ id: `h${turn}`, content: `Question ${turn}` }),
    new AIMessage({ id: `a${turn}`, content: "", tool_calls: [{ id: `c${turn}`, name: "look", args: {} }] }),
    new ToolMessage({ id: `r${turn}`, content: "found", tool_call_id: `c${turn}` }),
    new AIMessage({ id: `t${turn}`, content: `Answer ${turn}` }),
  ]);
  return [...turns.flat(), new HumanMessage({ id: "next", content: "Next" })];
}

/** The milliseconds of a model call, with all else that the agent does for it. */
async function measure(name: Name, history: BaseMessage[]): Promise<number> {
  const start = performance.now();
  const { messages } = await AGENTS[name].invoke(
    { messages: history } as never,
    { recursionLimit: 100 } as never,
  );
  const taken = (performance.now() - start) / CALLS;
  const expected = history.length + 2 * CALLS - 1;
  if (messages.length !== expected)
    throw new Error(`Expected ${expected} messages ${name}, got ${messages.length}.`);
  return taken;
}

const median = (times: readonly number[]) =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;

for (const size of SIZES) {
  const history = createHistory(size);
  const times: Record<Name, number[]> = {
    "createAgent alone": [],
    "with deepagents' patch": [],
    "with tetherMiddleware": [],
  };
  // The first rounds compile the code.
  for (let round = -3; round < SAMPLES; round += 1) {
    for (const name of NAMES) {
      const taken = await measure(name, history);
      if (round >= 0) times[name].push(taken);
    }
  }
  const alone = median(times["createAgent alone"]);
  console.log(`A model call with ${size} messages, the median of ${SAMPLES} turns of ${CALLS} calls:`);
  console.table(
    NAMES.map((name) => ({
      agent: name,
      "ms per call": Number(median(times[name]).toFixed(2)),
      "ms more": Number((median(times[name]) - alone).toFixed(2)),
      ratio: Number((median(times[name]) / alone).toFixed(2)),
    })),
  );
}
