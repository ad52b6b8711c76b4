/**
 * Reads what checkpointers return. LangGraph's types say what that is, but a checkpointer of another author can have
 * `null`, or nothing at all, where they say undefined or a list. LangGraph takes all of this for nothing, so the rest of
 * the code sees only what the types say.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { isRecord, madeOnce } from "../../shared/values.js";
import { replaceMethods } from "./replace-methods.js";

/** A view of a checkpointer whose tuples are as the types say. The same one each time. */
export function soundSaver(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  return madeOnce(views, saver, () =>
    replaceMethods(saver, {
      getTuple: async (config) => soundTuple(await saver.getTuple(config)),
      async *list(...given) {
        for await (const tuple of saver.list(...given) ?? []) {
          const sound = soundTuple(tuple);
          if (sound !== undefined) yield sound;
        }
      },
      put: async (config, checkpoint, ...rest) => {
        const saved: unknown = await saver.put(config, checkpoint, ...rest);
        const { configurable } = config;
        return hasCheckpoint(saved)
          ? saved
          : { configurable: { ...configurable, checkpoint_id: checkpoint.id } };
      },
    }),
  );
}

const views = new WeakMap<BaseCheckpointSaver, BaseCheckpointSaver>();

/** The tuple as its type says; the same one if it is. Undefined if there is none. */
function soundTuple(given: unknown): CheckpointTuple | undefined {
  if (!isRecord(given)) return undefined;
  const { metadata, parentConfig, pendingWrites, ...rest } = given;
  const { checkpoint } = given;
  const isSound =
    (!isRecord(checkpoint) || isRecord(checkpoint["channel_values"])) &&
    (metadata === undefined || isRecord(metadata)) &&
    (parentConfig === undefined || hasCheckpoint(parentConfig)) &&
    (pendingWrites === undefined || (Array.isArray(pendingWrites) && pendingWrites.every(Array.isArray)));
  if (isSound) return given as unknown as CheckpointTuple;
  return {
    ...rest,
    checkpoint: isRecord(checkpoint)
      ? { ...checkpoint, channel_values: Object(checkpoint["channel_values"]) }
      : checkpoint,
    ...(isRecord(metadata) && { metadata }),
    ...(hasCheckpoint(parentConfig) && { parentConfig }),
    pendingWrites: Array.isArray(pendingWrites) ? pendingWrites.filter(Array.isArray) : [],
  } as unknown as CheckpointTuple;
}

/** Whether a config names a checkpoint. Without a name, it would be the latest one. */
function hasCheckpoint(config: unknown): config is RunnableConfig {
  const { checkpoint_id } = Object(Object(config).configurable);
  return checkpoint_id !== undefined && checkpoint_id !== null && checkpoint_id !== "";
}
