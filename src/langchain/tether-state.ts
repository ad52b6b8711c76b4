import { StateSchema } from "@langchain/langgraph";
import { PairedMessagesDeltaValue } from "../langgraph/channels/paired-messages-delta.js";
import { checkSettings, flag } from "../settings/rule.js";
import { pairedState } from "./paired-channel.js";

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
