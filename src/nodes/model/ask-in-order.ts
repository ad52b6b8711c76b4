/** Asks the models of a run in order, until one responds. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { failsForGood } from "../../providers/failure/fails-for-good.js";
import { emitEvent } from "../run/agent-event.js";
import type { ModelChain } from "../run/model-chain.js";

export interface ModelAttempt {
  readonly model: BaseChatModel;
  /** Its position. */
  readonly position: number;
  /** Whether another model is asked if this one fails. */
  readonly hasNext: boolean;
}

export interface Asked<Answer> {
  readonly answer: Answer;
  /** The model that responded. */
  readonly model: BaseChatModel;
  /** Its position. */
  readonly position: number;
}

/**
 * @param ask Contract: rejects if the model fails, and has taken back what clients were shown of its response.
 * @param isFinal Contract: whether a failure is not the model's, because its response was complete.
 * @throws The error of the last model, or the first error after which no other model can help.
 */
export async function askInOrder<Answer>(
  chain: ModelChain,
  ask: (attempt: ModelAttempt) => Promise<Answer>,
  isFinal: () => boolean,
  config: LangGraphRunnableConfig,
): Promise<Asked<Answer>> {
  let model = await chain.at(chain.position);
  for (let { position } = chain; ; position += 1) {
    const hasNext = position < chain.last;
    try {
      return { answer: await ask({ model, position, hasNext }), model, position };
    } catch (error) {
      if (!hasNext || isFinal() || config.signal?.aborted === true || !failsForGood(error)) throw error;
      const next = await chain.at(position + 1);
      emitEvent(config, {
        type: "model-switched",
        from: chain.nameOf(model, position),
        to: chain.nameOf(next, position + 1),
        reason: error.message,
      });
      model = next;
    }
  }
}
