/**
 * The internals that several tests of behaviour need: to make or to recognise what only stored threads have. Other tests
 * import the entries, so that the code behind these names can change.
 */

export { threadOfList } from "../../src/doctor/thread-store.js";
export { callsOf } from "../../src/history/call.js";
export { coerceMessage } from "../../src/history/read-messages.js";
export { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
export { coverageOf, createSummary } from "../../src/history/summary.js";
export { rememberDialect } from "../../src/providers/table/dialect-of.js";
export { DIALECT_NAMES, DIALECTS } from "../../src/providers/table/dialects.js";
export { EVENT_CHANNEL } from "../../src/threads/events.js";
export { replaceMethods } from "../../src/threads/langgraph/replace-methods.js";
