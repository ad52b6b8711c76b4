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

/** Methods that stand on an object in place of its own ones, and these. */
const ownMethods = forAllCopies("own-methods", () => new WeakMap<object, object>());

export function noteOwnMethod(method: object, own: object): void {
  ownMethods.set(method, own);
}

/** A checkpointer's own method, in place of one that waits or is waited for. */
export function ownMethod<Method extends object>(method: Method): Method {
  return (ownMethods.get(method) as Method | undefined) ?? method;
}
