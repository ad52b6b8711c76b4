/** Views of objects with other methods. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";

const originals = new WeakMap<object, object>();

/** The object of which this is a view, or a view of a view. */
export function originalOf(view: object): object {
  return originals.get(view) ?? view;
}

/** A view of a checkpointer or a store with other methods. The object itself stays the same. */
export function replaceMethods<Target extends object>(
  target: Target,
  methods: Partial<NoInfer<Target>>,
): Target {
  const replaced = new Map<PropertyKey, unknown>(Object.entries(methods));
  const view = new Proxy(target, {
    get(_, name) {
      if (replaced.has(name)) return replaced.get(name);
      const value: unknown = Reflect.get(target, name, target);
      // Bound, because an object can have private fields.
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  originals.set(view, originalOf(target));
  return view;
}

export function isSaver(value: unknown): value is BaseCheckpointSaver {
  return typeof value === "object" && value !== null && "getTuple" in value;
}
