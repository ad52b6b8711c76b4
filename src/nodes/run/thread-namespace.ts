/** The namespace of the store that has one kind of things of a thread. */
export function threadNamespace(kind: "archive" | "inbox", threadId: string): string[] {
  // Labels of a namespace must not contain a period.
  return ["langgraph-tether", kind, encodeURIComponent(threadId).replaceAll(".", "%2E")];
}
