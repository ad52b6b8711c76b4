import { formerLabel, storeLabel } from "../../langgraph/stores.js";

type Kind = "archive" | "inbox";

/** The namespace of the store that has one kind of things of a thread. */
export function threadNamespace(kind: Kind, threadId: string): string[] {
  return ["langgraph-tether", kind, storeLabel(threadId)];
}

/** The namespace that earlier versions wrote to, if it is another one. A store can refuse it. */
export function formerNamespace(kind: Kind, threadId: string): string[] | undefined {
  const label = formerLabel(threadId);
  return label === undefined ? undefined : ["langgraph-tether", kind, label];
}
