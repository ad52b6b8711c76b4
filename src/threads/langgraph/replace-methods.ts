/** Views of objects with other methods. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { boundView } from "../../shared/views.js";

const originals = forAllCopies("originals", () => new WeakMap<object, object>());

/** The object behind a view, or behind a view of a view. */
export function originalOf(view: object): object {
  return originals.get(view) ?? view;
}

/** A view of a checkpointer or store with other methods. The object itself does not change. */
export function replaceMethods<Target extends object>(
  target: Target,
  methods: Partial<NoInfer<Target>>,
): Target {
  const view = boundView(target, methods);
  originals.set(view, originalOf(target));
  return view;
}

export function isSaver(value: unknown): value is BaseCheckpointSaver {
  return typeof value === "object" && value !== null && "getTuple" in value;
}
