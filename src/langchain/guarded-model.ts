/** A model that an agent of LangChain asks as usual, and that gives only complete responses. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { ModelError } from "../errors.js";
import { withDistinctCallIds } from "../history/calls/distinct-call-ids.js";
import { callsOf, isAIMessage } from "../history/messages/call.js";
import { coerceMessage } from "../history/reading/coerce-message.js";
import { type Askable, guardModel } from "../providers/answer/guard-model.js";
import { joinChunks } from "../providers/answer/join-chunks.js";
import type { StreamGuardOptions } from "../providers/answer/stream-guard.js";
import { isRecord } from "../shared/is-record.js";

/** Methods of a model that return the same model with more options. */
const BINDING_METHODS: ReadonlySet<unknown> = new Set(["bindTools", "bind", "withConfig"]);

export interface ResponseGuard extends StreamGuardOptions {
  /** Contract: returns the ids of the calls that the thread has. */
  readonly takenCallIds: () => ReadonlySet<string>;
}

/**
 * The model itself, with guarded responses. LangChain's agents bind their tools to it, and call `invoke`. As in
 * `createAgentGraph`, it is always asked with `stream`, unless streaming is off for it.
 *
 * The calls of a response get ids that no earlier call of the thread has: some providers repeat theirs, and LangChain
 * does not run a call if the thread has a result with its id.
 */
export function guardedModel<Model extends object>(model: Model, guard: ResponseGuard): Model {
  return new Proxy(model, {
    get(target, name) {
      if (name === "invoke") return (...given: InvokeArguments) => invokeGuarded(target, guard, given);
      const value: unknown = Reflect.get(target, name, target);
      // The model of one with bound options. LangChain takes it out, and binds tools to it.
      if (name === "bound" && isModel(value)) return guardedModel(value, guard);
      if (typeof value !== "function") return value;
      if (!BINDING_METHODS.has(name)) return value.bind(target);
      return (...given: unknown[]) => {
        const bound: unknown = value.apply(target, given);
        return isModel(bound) ? guardedModel(bound, guard) : bound;
      };
    },
  });
}

type InvokeArguments = [input: BaseMessage[], options?: Partial<RunnableConfig>];

async function invokeGuarded(
  model: object,
  guard: ResponseGuard,
  [input, options = {}]: InvokeArguments,
): Promise<BaseMessage> {
  const guarded = await guardModel(model as Askable, guard, options);
  // LangChain needs only `invoke`, and many a test has a model without more.
  const answer =
    typeof guarded.stream === "function"
      ? await joinChunks(await guarded.stream(input, options))
      : await guarded.invoke(input, options);
  const message = coerceMessage(answer);
  if (message !== undefined && isAIMessage(message)) {
    return callsOf(message).length === 0 ? message : withDistinctCallIds(message, guard.takenCallIds());
  }
  throw new ModelError("Expected the model's response to be an AI message.");
}

function isModel(value: unknown): value is object {
  return isRecord(value) && "invoke" in value;
}
