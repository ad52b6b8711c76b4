/** Where a thread's run begins, and what happens to a busy thread's second run, unless its client says so. */

import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { isRecord } from "../../src/shared/values.js";

export const THREAD_RUN_ROUTES = ["", "/stream", "/wait"].map((end) => `/threads/:thread/runs${end}`);

/** The server's answer if a run that waits, or cancels another one, has no thread. */
const NO_THREAD = "Unreachable state when creating run";

const LATEST = { checkpoint_id: null, checkpoint_map: null };

/**
 * By default the server refuses the second run, and a user's message is lost. Here it waits for the first one, as in
 * `createAgentGraph`. A run from a checkpoint would not have what the first one does until its end, so it cancels the
 * first one. agent-chat-ui sends such a run after its "Cancel", which only stops reading. An answer waits anyway: the
 * run that is running may be doing what an earlier click approved.
 *
 * A run that names no checkpoint begins on the latest. Without the null, the development server would begin it on the
 * checkpoint that an earlier run of the thread has named.
 */
export const takeSecondRuns: MiddlewareHandler = async (context, next) => {
  const { req } = context;
  const body: unknown = await req.json().catch(() => undefined);
  if (isRecord(body)) {
    const { config, multitask_strategy: given } = body;
    const { configurable } = Object(config);
    const named = [body["checkpoint"], body["checkpoint_id"], Object(configurable).checkpoint_id];
    const isFromCheckpoint = named.some((checkpoint) => checkpoint != null);
    const isAnswer = Object(body["command"]).resume != null;
    const strategy = given ?? (isFromCheckpoint && !isAnswer ? "interrupt" : "enqueue");
    const latest = { config: { ...Object(config), configurable: { ...Object(configurable), ...LATEST } } };
    const sent = { ...body, multitask_strategy: strategy, ...(!isFromCheckpoint && latest) };
    req.bodyCache = { text: Promise.resolve(JSON.stringify(sent)) as never };
  }
  await next();
  // With its own default, the server would say that the thread is busy.
  if (context.res.status === 500 && (await context.res.clone().text()).startsWith(NO_THREAD))
    throw new HTTPException(404, { message: "Thread not found" });
};
