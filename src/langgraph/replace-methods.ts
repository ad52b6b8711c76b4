import type { BaseCheckpointSaver } from "@langchain/langgraph";

/** The methods of a checkpointer that a view of it can replace. */
export type SaverMethods = Partial<
  Pick<BaseCheckpointSaver, "getTuple" | "put" | "putWrites" | "getNextVersion">
>;

/** A view of a checkpointer with other methods. The checkpointer itself stays the same. */
export function replaceMethods(saver: BaseCheckpointSaver, methods: SaverMethods): BaseCheckpointSaver {
  const replaced = new Map<PropertyKey, unknown>(Object.entries(methods));
  return new Proxy(saver, {
    get(target, name) {
      if (replaced.has(name)) return replaced.get(name);
      const value: unknown = Reflect.get(target, name, target);
      // Bound, because a checkpointer can have private fields.
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

export function isSaver(value: unknown): value is BaseCheckpointSaver {
  return typeof value === "object" && value !== null && "getTuple" in value;
}
