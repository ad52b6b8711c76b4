/**
 * Reads a thread so that unchanged parts are written back byte for byte, and one unreadable message does not hide the
 * others.
 */

import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { safely, toJson } from "../shared/json.js";
import { isRecord, madeOnce, pickFields, prototypeWith } from "../shared/values.js";
import { viewOf } from "../shared/views.js";
import { replaceMethods } from "../threads/langgraph/replace-methods.js";
import { soundSaver } from "../threads/langgraph/sound-saver.js";

type Serializer = BaseCheckpointSaver["serde"];

/**
 * A view of a checkpointer for reading. Each message that it reads has its stored JSON as `toJSON`, so a message that
 * is written again has the same bytes. A value that LangChain refuses to read is returned as stored.
 *
 * A checkpointer's serializer is a field, so the view inherits from the checkpointer. A class with private fields does
 * not allow that, and is read in its own way.
 */
export function pinMessages(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  const pinned = viewOf(saver, { serde: pinningSerializer(saver.serde) });
  if (prototypeWith(pinned, "getDeltaChannelHistory")?.constructor.name === "BaseCheckpointSaver")
    pinned.getDeltaChannelHistory = sharedWalk(pinned);
  const withFallback = (name: "getTuple" | "getDeltaChannelHistory") => ({
    [name]: async (...given: unknown[]): Promise<unknown> => {
      try {
        return await Reflect.apply(pinned[name], pinned, given);
      } catch {
        return Reflect.apply(saver[name], saver, given);
      }
    },
  });
  // Savers older than the delta channel do not have the second one.
  const hasDelta = typeof saver.getDeltaChannelHistory === "function";
  return soundSaver(
    replaceMethods(saver, {
      ...withFallback("getTuple"),
      ...(hasDelta && withFallback("getDeltaChannelHistory")),
    }),
  );
}

/**
 * The doctor rebuilds one checkpoint's messages after another, and their walks back meet. So what LangGraph's walk uses
 * of a checkpoint is read once. Each walk gets a copy, because a reducer may change it. A checkpointer's own walk may
 * use more.
 */
function sharedWalk(pinned: BaseCheckpointSaver): BaseCheckpointSaver["getDeltaChannelHistory"] {
  const { getDeltaChannelHistory, serde } = pinned;
  const kept = new Map<string | undefined, ReturnType<Serializer["dumpsTyped"]>>();
  return async ({ channels, ...options }) => {
    const read = async (config: CheckpointTuple["config"]) => {
      const tuple = await pinned.getTuple(config);
      const channel_values = pickFields({ ...tuple?.checkpoint.channel_values }, (name) =>
        channels.includes(name),
      );
      const pendingWrites = tuple?.pendingWrites?.filter(([, name]) => channels.includes(name));
      const parentConfig = tuple?.parentConfig;
      return serde.dumpsTyped({ checkpoint: { channel_values }, pendingWrites, parentConfig });
    };
    const getTuple = async (config: CheckpointTuple["config"]): Promise<unknown> => {
      const key = toJson([channels, config.configurable]);
      return serde.loadsTyped(...(await madeOnce(kept, key, () => read(config))));
    };
    return Reflect.apply(getDeltaChannelHistory, viewOf(pinned, { getTuple }), [{ ...options, channels }]);
  };
}

function pinningSerializer(serde: Serializer): Serializer {
  return {
    dumpsTyped: (value) => serde.dumpsTyped(value),
    loadsTyped: async (type, data) => {
      const stored = parsed(data);
      try {
        const value: unknown = await serde.loadsTyped(type, data);
        if (stored !== undefined) pinAll(stored.value, value);
        return value;
      } catch (error) {
        if (type !== "json" || stored === undefined) throw error;
        return readPieces(stored.value, serde);
      }
    },
  };
}

/** Undefined for anything but JSON, such as an encrypted value. */
function parsed(data: Uint8Array | string): { readonly value: unknown } | undefined {
  const text = (): string => (typeof data === "string" ? data : new TextDecoder().decode(data));
  return safely(() => ({ value: JSON.parse(text()) }), undefined);
}

function isSerialized(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && value["lc"] === 1 && value["type"] === "constructor";
}

function pinAll(stored: unknown, value: unknown): void {
  if (typeof stored !== "object" || stored === null || typeof value !== "object" || value === null) return;
  if (isSerialized(stored)) {
    pinJson(value, stored);
    return;
  }
  for (const [key, part] of Object.entries(stored)) pinAll(part, Reflect.get(value, key));
}

/** Makes this the object's JSON, which is stored instead of its fields. */
export function pinJson<Value extends object>(value: Value, json: unknown): Value {
  Object.defineProperty(value, "toJSON", { value: () => json, configurable: true, enumerable: false });
  return value;
}

/** Reads each serialized object separately. An unreadable one stays as it is stored. */
async function readPieces(stored: unknown, serde: Serializer): Promise<unknown> {
  if (Array.isArray(stored)) return Promise.all(stored.map((part) => readPieces(part, serde)));
  if (!isRecord(stored)) return stored;
  if (isSerialized(stored) || stored["lc"] === 2) {
    try {
      const value: unknown = await serde.loadsTyped("json", JSON.stringify(stored));
      // A snapshot of a delta channel has messages inside.
      pinAll(stored, value);
      return value;
    } catch {
      return stored;
    }
  }
  const parts = await Promise.all(
    Object.entries(stored).map(async ([key, part]) => [key, await readPieces(part, serde)]),
  );
  return Object.fromEntries(parts);
}
