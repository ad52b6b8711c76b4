/**
 * The entry `langgraph-tether/inspector`: pages that show what is stored in a thread, and what a model is sent of it. It
 * needs Node.
 */

import "./shared/check-node.js";

export { createInspector, type InspectorHandler, type InspectorOptions } from "./inspector/handler.js";
export type { SettingsOf } from "./inspector/view/read-threads.js";
export type { RequestSettings } from "./inspector/view/request.js";
