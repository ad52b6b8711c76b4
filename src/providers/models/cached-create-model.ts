import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createModel } from "./create-model.js";

/** Contract: resolves to the model of a name, or rejects with a clear error. */
export type CreateModel = (name: string) => Promise<BaseChatModel>;

/**
 * Returns a `createModel` that makes each model once, when it is first needed. Graphs that get the same
 * function share their models, with their connections and with what is known about their providers.
 *
 * @param make Makes a model. After a failure it is called again the next time. @default createModel
 * @example
 * ```ts
 * import { cachedCreateModel, createAgentGraph, createModel } from "langgraph-tether";
 *
 * let made = 0;
 * const shared = cachedCreateModel((name) => {
 *   made += 1;
 *   return createModel(name);
 * });
 * const writer = createAgentGraph({ model: "offline:", createModel: shared });
 * const reviewer = createAgentGraph({ model: "offline:", createModel: shared });
 * await writer.invoke({ messages: "Hello!" });
 * await reviewer.invoke({ messages: "Hello!" });
 * console.log(made); // 1
 * ```
 */
export function cachedCreateModel(make: CreateModel = createModel): CreateModel {
  const made = new Map<string, Promise<BaseChatModel>>();
  const shared: CreateModel = (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const model = make(name);
    made.set(name, model);
    model.catch(() => made.delete(name));
    return model;
  };
  if (readsEnvironment(make)) ENVIRONMENT_READERS.add(shared);
  return shared;
}

const ENVIRONMENT_READERS = new WeakSet<CreateModel>();

/** Whether models are made by `createModel`, with the keys of the process's environment. */
export function readsEnvironment(make: CreateModel): boolean {
  return make === createModel || ENVIRONMENT_READERS.has(make);
}
