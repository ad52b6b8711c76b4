import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { z } from "zod/v4";
import type { ToolCallsToKeep } from "../history/cut.js";
import type { Repair } from "../history/reducer/repair.js";
import type { DialectName } from "../providers/dialects.js";
import { aFunction, checkSettings, countFrom, flag, type Rule } from "../shared/check-settings.js";
import { isRecord } from "../shared/values.js";
import { takeLateResults } from "../threads/late-results.js";
import { dialectRule, toolCallsToKeepRule } from "../threads/summary-settings.js";
import { askModel } from "./ask-model.js";
import { after, createPreparation, recoverThread, type ThreadUpdate } from "./prepare-thread.js";
import { checkSummaryOptions, removeReturned, stateFor, type TetherSummaryOptions } from "./summarize.js";
import { assertPaired, configOf, type pairedState } from "./tether-state.js";
import { lateResultsIn, runTool } from "./tools.js";

/**
 * Middleware for `createAgent` of LangChain. Every tool call of the agent's threads is always
 * followed by its result:
 *
 * - The `messages` of the agent stay paired, whatever is written to them: see `PairedMessagesValue`.
 * - A call that a cancelled or failed run left without a result gets the result that its tool returned, if the tool had
 *   finished. Otherwise it gets a placeholder that says why. Both are stored in the thread.
 * - The model gets an input that its provider accepts, and that fits into its input window.
 * - With `summary`, the earlier part of a long thread is represented by a summary, and no message is lost.
 * - A response whose stream breaks is requested again. Its tool calls are not run, and clients see only the complete
 *   response.
 * - If a tool throws, the calls beside it keep their results.
 * - What a tool returns after the abort of its run is in the thread with the next run.
 *
 * Put it last in the list of middleware, so that it sees the model that is asked. If another declaration of `messages` wins,
 * the agent's runs fail with an `InvalidStateError`.
 *
 * @throws InvalidSettingError for an unknown option or a value that cannot be used.
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
  checkSettings(options, RULES, "options");
  if (options.summary !== undefined) checkSummaryOptions(options.summary);
  const { keepToolErrors = true } = options;
  const prepare = createPreparation(options);
  return createMiddleware({
    name: "tether",
    stateSchema: stateFor(options),
    beforeAgent: async ({ messages }, runtime) => {
      assertPaired(messages, runtime);
      const returned = await removeReturned(messages, runtime, options);
      const recovered = await recoverThread(after(messages, returned), runtime, options);
      const written = [...returned, ...recovered];
      const late = lateResultsIn(runtime);
      if (late !== undefined) {
        // Those that are written stay until the next run has found them in the thread.
        const taken = await takeLateResults(after(messages, written), late, configOf(runtime)).catch(
          () => NONE,
        );
        written.push(...taken.messages);
      }
      return written.length === 0 ? undefined : { messages: written as BaseMessage[] };
    },
    wrapModelCall: async (request, handler) => {
      const { runtime, state, messages } = request;
      assertPaired(state.messages, runtime);
      const update = await prepare(request, async (given) => handler({ ...request, ...given } as never));
      const history = after(messages, update?.messages ?? []);
      const answer = await askModel(request, history, options, configOf(runtime), async (given) =>
        handler(given),
      );
      return update === undefined ? answer : withUpdate(answer, update);
    },
    ...(keepToolErrors && {
      wrapToolCall: async (request, handler) => runTool(request, (tool) => handler({ ...request, tool })),
    }),
  });
}

const NONE = { messages: [] };

/** What LangChain takes from a model call, besides a message: a command, or a structured response with its messages. */
function withUpdate(answer: unknown, update: ThreadUpdate) {
  if (isRecord(answer) && "structuredResponse" in answer && Array.isArray(answer["messages"]))
    return {
      ...answer,
      messages: [...(update.messages ?? []), ...answer["messages"]],
    } as unknown as AIMessage;
  // LangChain writes the response of the model beside the command.
  return new Command({ update: { ...update } });
}

/** The options of `tetherMiddleware`. */
export interface TetherMiddlewareOptions {
  /**
   * The rules of the provider that gets the requests.
   *
   * @default those of the model that is asked
   */
  readonly dialect?: DialectName | undefined;
  /** How many tool calls of earlier turns are sent. @default all */
  readonly maxToolCallsFromHistory?: ToolCallsToKeep | undefined;
  /**
   * How many tokens the messages of a request may have, by our estimate. If they have more, they are shortened as
   * `toModelInput` describes. @default the input window of the model, if it is known
   */
  readonly maxTokens?: number | undefined;
  /**
   * How often a broken response of the model is requested again, without streaming. 0: never, so that the run fails.
   * A broken response is never stored, and its tool calls are never run. @default 3
   */
  readonly maxStreamFallbackAttempts?: number | undefined;
  /**
   * Replaces the earlier part of a long thread by a summary, in the place of `summarizationMiddleware`. The messages that
   * a summary covers are kept: see `coveredMessages`. `{}`: with the defaults of `createAgentGraph`. @default no
   * summaries
   */
  readonly summary?: TetherSummaryOptions | undefined;
  /**
   * Whether an error that a tool throws becomes a result that the model reads, as in an agent without middleware. If
   * not, the run fails, and loses the results of the calls that still run. @default true
   */
  readonly keepToolErrors?: boolean | undefined;
  /**
   * Contract: called for each call that the middleware closes with a placeholder, before the placeholder is stored. What
   * it throws is ignored.
   */
  readonly onRepair?: ((repair: Repair, place: RepairPlace) => void) | undefined;
}

/** Where a repair was made. */
export interface RepairPlace {
  /** The thread; undefined for a run without one. */
  readonly threadId: string | undefined;
}

const RULES: Readonly<Record<keyof TetherMiddlewareOptions, Rule>> = {
  dialect: dialectRule,
  maxToolCallsFromHistory: toolCallsToKeepRule,
  maxTokens: countFrom(0),
  maxStreamFallbackAttempts: countFrom(0),
  summary: { schema: z.record(z.string(), z.unknown()), expects: "an object" },
  keepToolErrors: flag,
  onRepair: aFunction(),
};
