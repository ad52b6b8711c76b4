import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { InvalidSettingError } from "../errors.js";
import { refusedByLangChain } from "../shared/misplaced.js";
import { isRecord } from "../shared/values.js";
import { isSavedRun, isServedRun } from "../threads/langgraph/run-host.js";
import { unwrapped } from "../threads/langgraph/unwrapped.js";
import { warnOfNoArchive } from "../threads/summary/shared-settings.js";
import { askModel } from "./model-call.js";
import { checkOptions, type TetherMiddlewareOptions } from "./options.js";
import { after, createPreparation, recoverThread, type ThreadUpdate } from "./prepare-thread.js";
import { assertPaired, configOf, detached, keepApart, type pairedState } from "./tether-state.js";
import { stateFor } from "./thread-summary.js";
import { runTool } from "./tools.js";

/**
 * Middleware for LangChain's `createAgent`. In the agent's threads, every tool call is followed by its result:
 *
 * - `messages` stay paired, whatever is written to them: see `PairedMessagesValue`.
 * - A call that a cancelled or failed run left open gets its tool's result, if the tool had finished, and otherwise a
 *   placeholder that says why. Both are stored.
 * - Results that arrive after an abort, and the shown text of an aborted response, are in the thread from the next run
 *   on. A run that begins directly after an abort finds them only with the durability `sync`.
 * - The model's input keeps its provider's rules and fits into its window.
 * - A response whose stream breaks is requested again. Its tool calls are not run.
 * - If a tool throws, the calls beside it keep their results. The error passes to the middleware that handles it, and
 *   otherwise fails the run: see `keepToolErrors`.
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
  const { keepToolErrors = false } = options;
  const prepare = createPreparation(options);
  return createMiddleware({
    name: "tether",
    stateSchema: stateFor(options),
    // LangGraph makes this a step of its own, which takes time. In return, other middleware, clients, and a run whose
    // model fails have the results before the model is asked.
    beforeAgent: async ({ messages }, runtime) => {
      const config = configOf(runtime);
      assertPaired(messages, config);
      if (isArchiveMissing(options, config)) warnOfNoArchive();
      keepApart(messages);
      const written = await recoverThread(messages, config, options);
      return written.length === 0 ? undefined : { messages: written as BaseMessage[] };
    },
    wrapModelCall: async (given, handler) => {
      const messages = detached(given);
      const request = { ...given, messages };
      const { state } = request;
      const config = configOf(request.runtime);
      try {
        assertPaired(state.messages, config);
        const update = await prepare(request, config, async (changed) =>
          handler({ ...request, ...changed } as never),
        );
        const history = after(messages, update?.messages ?? []);
        const response = await askModel(request, history, options, config, async (asked) => handler(asked));
        return update === undefined ? response : withUpdate(response, update);
      } catch (error) {
        throw unwrapped(error);
      }
    },
    wrapToolCall: async (request, handler) =>
      runTool(request, configOf(request.runtime), keepToolErrors, (tool) => handler({ ...request, tool })),
  });
}

refusedByLangChain(tetherMiddleware, () => {
  const expectation = "a list with what `tetherMiddleware()` returns, and not the function itself";
  return InvalidSettingError.expected("middleware", expectation, tetherMiddleware);
});

/** A server runs some agents without a thread. */
function isArchiveMissing({ summary }: TetherMiddlewareOptions, config: LangGraphRunnableConfig): boolean {
  return summary?.coveredMessages === "archive" && !isSavedRun(config) && !isServedRun(config);
}

/** What LangChain takes from a model call, besides a message: a command, or a structured response with its messages. */
function withUpdate(response: unknown, update: ThreadUpdate) {
  if (isRecord(response) && "structuredResponse" in response && Array.isArray(response["messages"]))
    return {
      ...response,
      messages: [...(update.messages ?? []), ...response["messages"]],
    } as unknown as AIMessage;
  // LangChain writes the model's response beside the command.
  return new Command({ update: { ...update } });
}
