/** The pages as JSON. The fields are stable. */

import { toPlain } from "../../history/message.js";
import type { ListView } from "./view/list-view.js";
import type { ThreadView } from "./view/thread-view.js";

/** `/tether.json`: for each thread the doctor's report, and what the list shows besides. */
export function listJson({ threads, page, hasNext, searched }: ListView): object {
  return {
    schemaVersion: 1,
    page,
    hasNext,
    searched,
    threads: threads.map(({ report, lastRepair, ...shown }) => {
      const { schemaVersion: _, ...told } = report;
      const repair = lastRepair && { word: lastRepair.mark.word, index: lastRepair.position - 1 };
      return { ...told, ...shown, lastRepair: repair };
    }),
  };
}

/**
 * `/tether/threads/:id.json`: the doctor's report of the thread, and the request of the step. It has all messages, not
 * only those of one page.
 */
export function threadJson({
  report,
  graph,
  title,
  updatedAt,
  soundness,
  step,
  steps,
  form: { options, origin },
  brokenInRequest: brokenRules,
  totals,
  difference,
  explanation,
  history,
}: ThreadView): object {
  const { dialect, modelId = null, maxTokens = null, maxToolCallsFromHistory = null } = options;
  const form = { dialect, dialectOrigin: origin, modelId, maxTokens, maxToolCallsFromHistory };
  const since = difference && {
    checkpointId: difference.to.checkpointId,
    isPrefixKept: difference.isPrefixKept,
    prefix: difference.prefix,
    ...difference.counts,
  };
  return {
    ...report,
    graph: graph ?? null,
    title,
    updatedAt: updatedAt ?? null,
    soundness,
    step: step ?? null,
    steps,
    request: { ...form, ...totals, brokenRules },
    since: since ?? null,
    stored: explanation.stored.map((told, index) => ({ ...told, message: plainAt(history, index) })),
    added: explanation.added,
    input: explanation.input.map((message) => toPlain(message)),
  };
}

function plainAt(history: ThreadView["history"], index: number): object | null {
  const message = history[index];
  return message === undefined ? null : toPlain(message);
}
