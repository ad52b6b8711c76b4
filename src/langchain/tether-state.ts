/** The state of LangChain's agents with the protected messages. */

import type { BaseMessage } from "@langchain/core/messages";
import { getConfig, type LangGraphRunnableConfig, ReducedValue, StateSchema } from "@langchain/langgraph";
import { z } from "zod/v4";
import { InvalidStateError } from "../errors.js";
import { trustMarked } from "../history/marks.js";
import {
  type MessagesUpdate,
  messagesSchema,
  messagesUpdateSchema,
} from "../history/reducer/messages-schema.js";
import { isKnownHistory } from "../history/reducer/normalize-history.js";
import { pairedField } from "../history/reducer/paired-messages.js";
import { checkSettings, flag } from "../shared/check-settings.js";
import { forAllCopies } from "../shared/for-all-copies.js";
import { isError } from "../shared/is-error.js";
import { defined } from "../shared/values.js";
import { unmarkedInput } from "../threads/client-marks.js";
import { deltaField, pairedMessagesDeltaReducer, probeChannel } from "../threads/langgraph/channels.js";
import { isSubgraphRun } from "../threads/langgraph/run-host.js";

/** The options of `tetherState`. */
export interface TetherStateOptions {
  /**
   * Whether a checkpoint stores only the messages that its step added, not the whole history. LangGraph calls its delta
   * channel beta. @default false
   */
  readonly delta?: boolean | undefined;
}

/**
 * A `stateSchema` for `createAgent` and `createDeepAgent` whose `messages` are those of `tetherMiddleware`. You need it
 * only for a delta channel, which a middleware cannot declare, or if a middleware before `tetherMiddleware` also
 * declares `messages`. The agent's `stateSchema` wins over all middleware.
 *
 * For your own keys, use its `fields`: `new StateSchema({ ...tetherState().fields, notes: z.string() })`.
 *
 * @throws InvalidSettingError for an unknown option or an unusable value.
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgent } from "langchain";
 * import { createModel } from "langgraph-tether";
 * import { tetherMiddleware, tetherState } from "langgraph-tether/langchain";
 *
 * const agent = createAgent({
 *   model: await createModel("offline:"),
 *   stateSchema: tetherState({ delta: true }),
 *   middleware: [tetherMiddleware()],
 *   checkpointer: new MemorySaver(),
 * });
 * const { messages } = await agent.invoke(
 *   { messages: [{ role: "user", content: "Hello!" }] },
 *   { configurable: { thread_id: "1" } },
 * );
 * console.log(messages.map((message) => message.type)); // [ 'human', 'ai' ]
 * ```
 */
export function tetherState(options: TetherStateOptions = {}): typeof pairedState {
  checkSettings(options, { delta: flag }, "options");
  return options.delta === true ? pairedDeltaState : pairedState;
}

/*
 * The `messages` channel of an agent with the middleware.
 */

/** LangChain refuses an input without a value for a middleware's required key, so this one is optional. */
const messages: ReducedValue<BaseMessage[], MessagesUpdate | undefined> = new ReducedValue(
  messagesSchema.default(() => []),
  {
    ...pairedField,
    reducer: (history: unknown, update: unknown) => keepApart(pairedField.reducer(history, update)),
    inputSchema: z.any().superRefine(checkUpdate).overwrite(unmarkedIfSent).optional() as z.ZodType<
      MessagesUpdate | undefined
    >,
  },
);

/**
 * LangGraph checks a run's input, and what a node or `updateState` writes, with the same schema. Only the input of an
 * outermost run comes from a client.
 */
function unmarkedIfSent(update: unknown): unknown {
  const config = getConfig();
  const isSent = config === undefined || !isSubgraphRun(config);
  // LangChain checks the whole state at each model call.
  return isSent && !isPaired(update) ? unmarkedInput(update) : update;
}

/**
 * LangChain builds its own error from the issues of whatever a middleware's schema throws. It shows their paths.
 *
 * @throws InvalidMessageError that names the first value that is not a message.
 */
function checkUpdate(update: unknown): void {
  if (update === undefined) return;
  try {
    messagesUpdateSchema.parse(update);
  } catch (error) {
    throw isError(error)
      ? Object.assign(error, { issues: [{ code: "invalid_type", path: [error.message] }] })
      : error;
  }
}

export const pairedState = new StateSchema({ messages });

/** LangChain's types have no delta field. The state's and the updates' types are the same. */
const pairedDeltaState = new StateSchema({
  messages: deltaField(
    (history, writes) => keepApart(pairedMessagesDeltaReducer(history, writes)),
    messagesUpdateSchema.overwrite((update) => unmarkedIfSent(update) as MessagesUpdate),
  ),
}) as unknown as typeof pairedState;

/*
 * Keeps the thread's list unchanged, whatever another middleware does to its own. LangChain gives every middleware the
 * state's own list, and its `contextEditingMiddleware` edits that in place.
 */

/** What each state's list held when it was made. */
const kept = forAllCopies("kept-lists", () => new WeakMap<readonly BaseMessage[], readonly BaseMessage[]>());

/** Remembers what the list has now. A program can send its messages back, with their marks. */
export function keepApart<List extends readonly BaseMessage[]>(list: List): List {
  if (kept.has(list)) return list;
  kept.set(list, list.slice());
  trustMarked(list);
  return list;
}

/** The request's messages, edited or not. If the state's list was also edited, it gets back what it had. */
export function detached({ state, messages: asked }: DetachedRequest): BaseMessage[] {
  const before = kept.get(state.messages);
  const isEdited =
    before !== undefined &&
    (before.length !== state.messages.length || before.some((one, index) => one !== state.messages[index]));
  const copy = asked === state.messages ? asked.slice() : asked;
  if (isEdited) {
    state.messages.length = 0;
    for (const message of before) state.messages.push(message);
  }
  return copy;
}

interface DetachedRequest {
  readonly messages: BaseMessage[];
  readonly state: { readonly messages: BaseMessage[] };
}

/**
 * Checks that the reducer of the agent's `messages` is ours. LangChain takes a key's first declaration and silently
 * ignores all others.
 *
 * @throws InvalidStateError if another declaration won.
 */
export function assertPaired(history: unknown, config: LangGraphRunnableConfig): void {
  if (isPaired(history)) return;
  // What the run read from a checkpoint has not passed the reducer yet. An empty write changes nothing.
  const probed = probeChannel(config, "messages", []);
  if (probed === undefined || isPaired(probed)) return;
  throw new InvalidStateError(
    "messages",
    "Expected `messages` to have the reducer of `tetherMiddleware`, but the agent's `stateSchema` or a middleware " +
      "before this one declares `messages` too, and LangChain uses the first declaration. Remove that declaration, " +
      "or pass `stateSchema: tetherState()` to the agent, which wins over every middleware.",
  );
}

function isPaired(history: unknown): boolean {
  return Array.isArray(history) && isKnownHistory(history);
}

/*
 * What LangChain gives every middleware hook, as far as this library reads it.
 */

export interface HookRuntime {
  readonly configurable?: LangGraphRunnableConfig["configurable"];
  readonly writer?: ((chunk: unknown) => void) | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly store?: LangGraphRunnableConfig["store"] | null | undefined;
}

/** The run's config, for the code that this middleware shares with the nodes of `createAgentGraph`. */
export function configOf({ configurable, writer, signal, store }: HookRuntime): LangGraphRunnableConfig {
  return defined({ configurable, writer: writer ?? undefined, signal, store: store ?? undefined });
}
