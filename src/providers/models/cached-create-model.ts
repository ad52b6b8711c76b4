import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createModel } from "./create-model.js";

/** Contract: resolves to the model of a name, or rejects with a clear error. */
export type CreateModel = (name: string) => Promise<BaseChatModel>;

/**
 * Makes each model once, when it is first needed. Graphs with the same function share their models: the client's
 * connections, and what was learned about the provider.
 *
 * @param make Makes a model. If it fails, it is called again the next time. @default createModel
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
