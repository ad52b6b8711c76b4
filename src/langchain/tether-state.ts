import type { BaseMessage } from "@langchain/core/messages";
import { type LangGraphRunnableConfig, ReducedValue, StateSchema } from "@langchain/langgraph";
import { z } from "zod/v4";
import { InvalidStateError } from "../errors.js";
import { type MessagesUpdate, messagesSchema, messagesUpdateSchema } from "../history/messages-schema.js";
import { isKnownHistory } from "../history/reducer/normalize-history.js";
import { pairedField } from "../history/reducer/paired-messages.js";
import { checkSettings, flag } from "../shared/check-settings.js";
import { isError } from "../shared/is-error.js";
import { defined } from "../shared/values.js";
import { PairedMessagesDeltaValue, probeChannel } from "../threads/langgraph/channels.js";

/** The options of `tetherState`. */
export interface TetherStateOptions {
  /**
   * Whether a checkpoint stores only the messages that a step added, and not the whole history. LangGraph calls its delta
   * channel beta. @default false
   */
  readonly delta?: boolean | undefined;
}

/**
 * A `stateSchema` for `createAgent` and `createDeepAgent` whose `messages` are those of `tetherMiddleware`. It is needed
 * in two cases only: for a delta channel, which a middleware cannot declare, and if another middleware before
 * `tetherMiddleware` declares `messages` too. The `stateSchema` of the agent wins over all middleware.
 *
 * For keys of your own, use its `fields`: `new StateSchema({ ...tetherState().fields, notes: z.string() })`.
 *
 * @throws InvalidSettingError for an unknown option or a value that cannot be used.
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
  if (options.delta !== true) return pairedState;
  // LangChain's types know no delta field. The state and the updates have the same types.
  return new StateSchema({ messages: PairedMessagesDeltaValue }) as unknown as typeof pairedState;
}

/*
 * The `messages` channel of an agent with the middleware.
 */

/** LangChain refuses an input without a value for a required key of a middleware, so this one is optional. */
const messages: ReducedValue<BaseMessage[], MessagesUpdate | undefined> = new ReducedValue(
  messagesSchema.default(() => []),
  {
    ...pairedField,
    reducer: (history: unknown, update: unknown) => keepApart(pairedField.reducer(history, update)),
    inputSchema: z.any().superRefine(checkUpdate) as z.ZodType<MessagesUpdate | undefined>,
  },
);

/**
 * LangChain builds its own error from the issues of whatever the schema of a middleware throws. It shows their paths.
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

/*
 * The list of the thread stays as it is, whatever another middleware does to the one that it gets: LangChain gives the
 * list of the state itself to every middleware, and its `contextEditingMiddleware` edits that in place.
 */

/** What each list of a state had when it was made. */
const kept = new WeakMap<readonly BaseMessage[], readonly BaseMessage[]>();

/** Remembers what the list has now. */
export function keepApart<List extends readonly BaseMessage[]>(list: List): List {
  if (!kept.has(list)) kept.set(list, list.slice());
  return list;
}

/** The messages of the request, edited or not. If the list of the state was edited too, it gets back what it had. */
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
 * Checks that the reducer of the agent's `messages` is ours. LangChain takes the first declaration of a key and ignores
 * all others without a word.
 *
 * @throws InvalidStateError if another declaration won.
 */
export function assertPaired(history: unknown, config: LangGraphRunnableConfig): void {
  if (isPaired(history)) return;
  // What the run has read from a checkpoint has not passed the reducer yet. An empty write changes nothing.
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
 * What LangChain gives every hook of a middleware, as far as this library reads it.
 */

interface HookRuntime {
  readonly configurable?: LangGraphRunnableConfig["configurable"];
  readonly writer?: ((chunk: unknown) => void) | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly store?: LangGraphRunnableConfig["store"] | null | undefined;
}

/** The config of the run, for the code that this middleware shares with the nodes of `createAgentGraph`. */
export function configOf({ configurable, writer, signal, store }: HookRuntime): LangGraphRunnableConfig {
  return defined({ configurable, writer: writer ?? undefined, signal, store: store ?? undefined });
}
