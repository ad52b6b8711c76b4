/** What a model call of a LangChain agent writes to the thread, besides the response. */

import type { BaseMessage } from "@langchain/core/messages";
import { StateSchema } from "@langchain/langgraph";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import type { SummaryAttempt } from "../nodes/run/agent-state.js";
import { type AgentRequest, FALLBACK_ATTEMPTS } from "./ask-model.js";
import { closeCalls, type Written } from "./close-calls.js";
import type { TetherMiddlewareOptions } from "./options.js";
import { pairedState } from "./paired-channel.js";
import type { HookRuntime } from "./runtime.js";
import { ATTEMPT_KEY, createSummarizer, summaryAttempt } from "./summarize-thread.js";

export interface ThreadUpdate {
  readonly messages?: Written[];
  readonly [ATTEMPT_KEY]?: SummaryAttempt;
}

interface PreparedRequest extends AgentRequest {
  readonly state: { readonly messages: BaseMessage[]; readonly [ATTEMPT_KEY]?: unknown };
  readonly runtime: HookRuntime;
}

/** The state of the middleware with these options. */
export function stateFor({ summary }: TetherMiddlewareOptions): typeof pairedState {
  if (summary === undefined) return pairedState;
  // The private key is in no input and no output, so it is not in the type either.
  const fields = { ...pairedState.fields, [ATTEMPT_KEY]: summaryAttempt };
  return new StateSchema(fields) as unknown as typeof pairedState;
}

/**
 * Closes the calls of a thread, because a run that goes on has not passed `beforeAgent`, and summarises it if that is
 * due. A middleware such as `modelRetryMiddleware` can ask the model several times in one step. All these requests get the
 * same outcome.
 *
 * @returns A function that resolves to undefined if there is nothing to write.
 */
export function createPreparation(options: TetherMiddlewareOptions) {
  const { summary, maxToolCallsFromHistory, maxStreamFallbackAttempts = FALLBACK_ATTEMPTS } = options;
  const summarize =
    summary === undefined
      ? undefined
      : createSummarizer(summary, { maxToolCallsFromHistory, maxStreamFallbackAttempts });
  const prepared = new WeakMap<readonly BaseMessage[], Promise<ThreadUpdate | undefined>>();

  const prepare = async (request: PreparedRequest): Promise<ThreadUpdate | undefined> => {
    const { state, runtime, messages } = request;
    const results = await closeCalls(state.messages, runtime, options);
    if (summarize === undefined) return results.length === 0 ? undefined : { messages: results };
    const closed = (history: BaseMessage[]) =>
      results.length === 0 ? history : reduceMessages(history, results).messages;
    const made = await summarize({
      request: { ...request, messages: closed(messages) },
      stored: closed(state.messages),
      attempt: state[ATTEMPT_KEY] as SummaryAttempt | undefined,
      runtime,
    });
    const written = [...results, ...((made.messages ?? []) as Written[])];
    if (written.length === 0 && made.summaryAttempt === undefined) return undefined;
    return {
      messages: written,
      ...(made.summaryAttempt !== undefined && { [ATTEMPT_KEY]: made.summaryAttempt }),
    };
  };

  return (request: PreparedRequest): Promise<ThreadUpdate | undefined> => {
    const known = prepared.get(request.state.messages);
    if (known !== undefined) return known;
    const update = prepare(request);
    prepared.set(request.state.messages, update);
    update.catch(() => prepared.delete(request.state.messages));
    return update;
  };
}
