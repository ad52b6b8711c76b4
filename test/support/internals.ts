/**
 * The internals that several tests of behaviour need: to make or to recognise what only stored threads have. Other tests
 * import the entries, so that the code behind these names can change.
 */

export { runContextSchema } from "../../src/agent/settings/run-context.js";
export { resolveSettings, SETTINGS, type SettingName } from "../../src/agent/settings/settings.js";
export { nextHistoryOf } from "../../src/doctor/next-history.js";
export { pinMessages } from "../../src/doctor/stored-json.js";
export { threadOfList } from "../../src/doctor/thread-store.js";
export { callsOf } from "../../src/history/call.js";
export { copyMessage } from "../../src/history/message.js";
export type { SummaryPolicy } from "../../src/history/plan-summary.js";
export { coerceMessage } from "../../src/history/read-messages.js";
export { isKnownHistory } from "../../src/history/reducer/normalize-history.js";
export { REPAIR_CHANNEL } from "../../src/history/reducer/paired-messages.js";
export { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
export { createPlaceholder, isPlaceholder, PLACEHOLDER_KEY } from "../../src/history/result.js";
export { countTokens } from "../../src/history/size.js";
export { archiveOf, coverageOf, createSummary, isUserMessage } from "../../src/history/summary.js";
export { countTextTokens } from "../../src/history/text-tokens.js";
export { visibleHistory } from "../../src/history/visible-history.js";
export { serveInspector } from "../../src/inspector/serve.js";
export type { Dialect } from "../../src/providers/contract/dialect.js";
export type { ProviderTool } from "../../src/providers/contract/provider.js";
export { toModelError } from "../../src/providers/failure/model-failure.js";
export { createRedact } from "../../src/providers/failure/redact.js";
export { sizeOfInput } from "../../src/providers/input/shorten.js";
export { OfflineChatModel } from "../../src/providers/offline/offline-chat-model.js";
export { faultOf } from "../../src/providers/response/verdict.js";
export { dialectOf, identityOf, rememberDialect } from "../../src/providers/table/dialect-of.js";
export { DIALECT_NAMES, DIALECTS, dialectNamed } from "../../src/providers/table/dialects.js";
export type { Setting } from "../../src/shared/check-settings.js";
export { diaryWritten } from "../../src/threads/diary.js";
export { recover } from "../../src/threads/ended-runs/recover.js";
export { EVENT_CHANNEL } from "../../src/threads/events.js";
export {
  pairedMessagesDeltaReducer,
  UPDATES_BETWEEN_SNAPSHOTS,
} from "../../src/threads/langgraph/channels.js";
export { replaceMethods } from "../../src/threads/langgraph/replace-methods.js";
export { unwrapped } from "../../src/threads/langgraph/swap-channel.js";
export { boundedSaver } from "../../src/threads/saver/bounded-saver.js";
export { RunSaver } from "../../src/threads/saver/run-saver.js";
export { countToolTokens } from "../../src/threads/shared-settings.js";
export type { SummaryAttempt } from "../../src/threads/state.js";
export { shouldSummarize, summaryWording } from "../../src/threads/summary/summarize.js";
