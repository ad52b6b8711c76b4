/** A run inside agent middleware, which can change its input and its result. */

import { isCommand } from "@langchain/langgraph";
import { readUpdate } from "../../threads/commands.js";
import { customChunk, followingOptions } from "../../threads/langgraph/run-host.js";
import { defaultsOf } from "../../threads/own-state.js";
import { threadIdOf } from "../../threads/stores.js";
import { type AgentContext, agentHook, type Hook, type RunScope } from "../middleware/contexts.js";
import { type GraphRuns, runAgentMiddleware } from "../middleware/run.js";
import { planRun } from "../plan.js";
import type { AdmittedRun } from "./admit.js";
import type { RunRecord } from "./handle.js";
import { messagesOfInput, withMessages } from "./input.js";
import { assertRead, loop } from "./loop.js";

/** The latest pass through the graph. */
interface Inside {
  record: RunRecord | undefined;
}

export async function runInMiddleware<Chunk>(run: AdmittedRun<Chunk>): Promise<void> {
  const inside: Inside = { record: undefined };
  const hook = agentHook(await scopeOf(run, inside), {
    stream: run.isStreamed,
    messages: messagesOfInput(run.input),
    options: { ...run.settings },
  });
  return runAgentMiddleware(run.middleware.agent, hook, passesOf(run, hook, inside));
}

/** What the middleware reads of the run, and where it writes. */
async function scopeOf<Chunk>(run: AdmittedRun<Chunk>, inside: Inside): Promise<RunScope> {
  const { plan, options, settings, isSubgraph, bag } = run;
  const thread = await run.readThread?.();
  const parentWriter: unknown = Reflect.get(options, "writer");
  return {
    bag,
    threadId: threadIdOf(options),
    signal: options.signal,
    stateKeys: [],
    context: { ...run.ownContext, ...settings },
    store: run.store,
    readState: () => ({
      messages: [],
      ...defaultsOf(plan.ownState),
      ...thread?.values,
      ...inside.record?.ownValues(plan.ownState),
      ...(inside.record?.history !== undefined && { messages: inside.record.history }),
    }),
    write: (value) => {
      if (isSubgraph && typeof parentWriter === "function") parentWriter(value);
      const made = customChunk(value, options);
      if (made !== undefined) run.reader.give(made.chunk as Chunk);
    },
  };
}

/** The passes through the graph that the middleware can ask for. */
function passesOf<Chunk>(run: AdmittedRun<Chunk>, { fields }: Hook<AgentContext>, inside: Inside): GraphRuns {
  const { plan, options, input, settings, isSubgraph, watched } = run;
  const chosen = () => planRun(plan, fields.options, isSubgraph);
  const keepsHistory = watched.checkpointer !== undefined && !isSubgraph;
  return {
    start: () => {
      const begun = loop(run, { input: withMessages(input, fields.messages), settings: chosen() });
      inside.record = begun.record;
      return begun;
    },
    respond: (given) => {
      const messages = isCommand(input)
        ? { ...readUpdate(input.update), messages: fields.messages }
        : withMessages(input ?? {}, fields.messages);
      return loop(run, { input: messages, settings: chosen(), given }).ended;
    },
    correct: (given, history) =>
      loop(run, {
        input: { messages: keepsHistory ? [] : history },
        settings,
        options: followingOptions(options),
        given,
        structuredResponse: plan.formatPlan && inside.record?.structuredResponse,
      }).ended,
    assertRead: () => assertRead(run.reader),
  };
}
