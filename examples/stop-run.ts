/** A run of a server that can be stopped for real. `docs/serving.md` shows it. */

import type { Client } from "@langchain/langgraph-sdk";

export function startRun(client: Client, threadId: string, assistant: string, content: string) {
  const leaving = new AbortController();
  let runId: string | undefined;
  const parts = client.runs.stream(threadId, assistant, {
    input: { messages: [{ role: "user", content }] },
    streamMode: ["values", "messages-tuple", "custom"],
    // The run stops if nobody reads it any more, such as when the page is closed.
    onDisconnect: "cancel",
    // A message stops the current run.
    multitaskStrategy: "interrupt",
    signal: leaving.signal,
    onRunCreated: ({ run_id }) => {
      runId = run_id;
    },
  });
  /** For the stop button. When it resolves, the run has ended, and what its tools had returned is saved. */
  const stop = async () => {
    if (runId !== undefined) await client.runs.cancel(threadId, runId, true);
    leaving.abort();
  };
  return { parts, stop };
}
