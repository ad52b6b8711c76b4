/** The middleware that protects the threads of LangChain's agents. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { InvalidSettingError } from "../errors.js";
import { isAIMessage } from "../history/call.js";
import { refusedByLangChain } from "../shared/misplaced.js";
import { isRecord } from "../shared/values.js";
import { leavingAsItIs } from "../threads/langgraph/leaving-as-it-is.js";
import { beginMemory, refuseSharedMemory, sharesMemoryInside } from "../threads/langgraph/own-memory.js";
import { isSavedRun, isServedRun } from "../threads/langgraph/run-host.js";
import { mayHaveEndedEarly, waitForWrites } from "../threads/saver/patient-saver.js";
import { warnOfNoArchive } from "../threads/shared-settings.js";
import { askForAgent } from "./model-call.js";
import { checkOptions, type TetherMiddlewareOptions } from "./options.js";
import { after, createPreparation, recoverThread, type ThreadUpdate } from "./prepare-thread.js";
import { seenRun } from "./seen-run.js";
import { callsToBegin, nextStep, readInput } from "./sent-again.js";
import {
  assertPaired,
  configOf,
  detached,
  type HookRuntime,
  keepApart,
  type pairedState,
} from "./tether-state.js";
import { stateFor } from "./thread-summary.js";
import { createToolWrappers } from "./tool-wrappers.js";
import { runTool } from "./tools.js";
import { askUntilReadable, inOrder } from "./unreadable-calls.js";

/**
 * Middleware for LangChain's `createAgent`. In the agent's threads, every tool call is followed by its result:
 *
 * - `messages` stay paired, whatever is written to them: see `PairedMessagesValue`.
 * - A call that a cancelled or failed run left open gets its tool's result, if the tool had finished, and otherwise a
 *   placeholder that says why. Both are stored.
 * - Results that arrive after an abort, and the shown text of an aborted response, are in the thread from the next run
 *   on, even if it begins directly after the abort.
 * - The model's input keeps its provider's rules and fits into its window.
 * - A response whose stream breaks is requested again. Its tool calls are not run.
 * - If a tool throws, the calls beside it keep their results. Whether the model is told or the run fails is decided as
 *   without this middleware: see `keepToolErrors`.
 * - With `summary`, long threads are summarised, and no message is lost.
 *
 * Put it last in the middleware list, so that it sees the final model. If another declaration of `messages` wins, runs
 * fail with an `InvalidStateError`.
 *
 * @throws InvalidSettingError for an unknown option or an unusable value.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { createAgent } from "langchain";
 * import { createModel } from "langgraph-tether";
 * import { tetherMiddleware } from "langgraph-tether/langchain";
 *
 * const agent = createAgent({ model: await createModel("offline:"), middleware: [tetherMiddleware()] });
 * const { messages } = await agent.invoke({
 *   messages: [
 *     new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *     new HumanMessage("Are you there?"),
 *   ],
 * });
 * console.log(messages.map((message) => message.type)); // [ 'ai', 'tool', 'human', 'ai' ]
 * ```
 */
export function tetherMiddleware(
  options: TetherMiddlewareOptions = {},
): AgentMiddleware<typeof pairedState, undefined> {
  checkOptions(options);
  const prepare = createPreparation(options);
  const middleware = createMiddleware({
    name: "tether",
    stateSchema: stateFor(options),
    // LangGraph makes this a step of its own, which takes time. In return, other middleware, clients, and a run whose
    // model fails have the results before the model is asked.
    beforeAgent: {
      canJumpTo: ["tools", "end"],
      hook: async ({ messages }, runtime) => {
        await beginMemory(configOf(runtime));
        const given = enter(runtime);
        assertPaired(messages, given);
        if (isArchiveMissing(options, given)) warnOfNoArchive();
        keepApart(messages);
        // Before its first response, a thread has nothing that nodes wrote after one.
        const mayHaveLeft = mayHaveEndedEarly(given) && messages.some(isAIMessage);
        const config = await seenRun(given).enter(given, mayHaveLeft);
        const { isSentAgain, written: words } = await readInput(messages, config, mayHaveLeft);
        const keepOpen = isSentAgain ? callsToBegin : undefined;
        const current = after(messages, words);
        const recovered = await recoverThread(current, config, options, mayHaveLeft, keepOpen);
        const written = [...words, ...recovered];
        const jumpTo = isSentAgain ? nextStep(after(current, recovered)) : undefined;
        if (written.length === 0 && jumpTo === undefined) return undefined;
        return { messages: written as BaseMessage[], ...(jumpTo && { jumpTo }) };
      },
    },
    wrapModelCall: async (given, handler) => {
      wrappers.look(handler, given.tools ?? given);
      const messages = detached(given);
      const request = { ...given, messages };
      const { state } = request;
      const called = enter(request.runtime);
      const run = seenRun(called);
      const config = await run.enter(called);
      try {
        assertPaired(state.messages, config);
        const update = await prepare(request, config, async (changed) =>
          handler({ ...request, ...changed } as never),
        );
        const history = after(messages, update?.messages ?? []);
        const { response, told } = await askUntilReadable(history, config, (said, hasTools) => {
          const thread = after(state.messages, said) as BaseMessage[];
          const asking = { ...request, state: { ...state, messages: thread } };
          const choice = hasTools ? {} : { toolChoice: "none" as const };
          return askForAgent({ ...asking, ...choice }, after(history, said), options, config, async (asked) =>
            handler(asked),
          );
        });
        run.noteResponse(response);
        if (update === undefined && told.length === 0) return response;
        return withUpdate(response, update ?? {}, told);
      } catch (error) {
        throw leavingAsItIs(error);
      }
    },
    wrapToolCall: async (request, handler) => {
      const { keepToolErrors: keepErrors = wrappers.areOthers() !== true, onRepair } = options;
      const called = enter(request.runtime);
      const run = seenRun(called);
      const config = await run.enter(called);
      return run.during(() =>
        runTool(request, config, { keepErrors, onRepair }, (tool) => handler({ ...request, tool })),
      );
    },
  });
  const wrappers = createToolWrappers(middleware);
  return middleware;
}

/**
 * Begins a hook. A run that continues its thread can begin with any of them.
 *
 * @throws InvalidSettingError if another task of the parent's superstep runs an agent with the same memory.
 */
function enter(runtime: HookRuntime): LangGraphRunnableConfig {
  const config = configOf(runtime);
  waitForWrites(config);
  if (sharesMemoryInside(config)) refuseSharedMemory();
  return config;
}

refusedByLangChain(tetherMiddleware, () => {
  const expectation = "a list with what `tetherMiddleware()` returns, and not the function itself";
  return InvalidSettingError.expected("middleware", expectation, tetherMiddleware);
});

/** A server runs some agents without a thread. */
function isArchiveMissing({ summary }: TetherMiddlewareOptions, config: LangGraphRunnableConfig): boolean {
  return summary?.coveredMessages === "archive" && !isSavedRun(config) && !isServedRun(config);
}

/**
 * What LangChain takes from a model call, besides a message: a command, or a structured response with its messages.
 *
 * @param told The messages before the response.
 */
function withUpdate(response: unknown, update: ThreadUpdate, told: readonly BaseMessage[]) {
  const { messages = [] } = update;
  if (isRecord(response) && "structuredResponse" in response && Array.isArray(response["messages"]))
    return {
      ...response,
      messages: [...messages, ...told, ...response["messages"]],
    } as unknown as AIMessage;
  // LangChain writes the model's response beside the command.
  return new Command({ update: { ...update, messages: [...messages, ...inOrder(response, told)] } });
}
