/** The graph of `langgraph.json`. */

import { createAgentGraph } from "../graph/create-agent-graph.js";
import { cachedCreateModel } from "../providers/models/cached-create-model.js";
import { readSettings } from "./settings.js";
import { createDeployTools } from "./tools/create-deploy-tools.js";

const settings = readSettings(process.env);
/** Each run has a graph of its own, and all have the same models. */
const createModel = cachedCreateModel();

const build = () =>
  createAgentGraph({
    model: settings.MODEL,
    models: settings.MODELS,
    createModel,
    tools: createDeployTools({
      geocodingBaseUrl: settings.OPEN_METEO_GEOCODING_URL,
      forecastBaseUrl: settings.OPEN_METEO_FORECAST_URL,
    }),
    systemPrompt: settings.SYSTEM_PROMPT,
    maxTokensBeforeSummary: settings.MAX_TOKENS_BEFORE_SUMMARY,
    maxMessagesBeforeSummary: settings.MAX_MESSAGES_BEFORE_SUMMARY,
    messagesToKeep: settings.MESSAGES_TO_KEEP,
    tokensToKeep: settings.TOKENS_TO_KEEP,
    summaryModel: settings.SUMMARY_MODEL,
    summaryLanguage: settings.SUMMARY_LANGUAGE,
    summaryPrompt: settings.SUMMARY_PROMPT,
    summaryHeading: settings.SUMMARY_HEADING,
    summaryTimeoutMs: settings.SUMMARY_TIMEOUT_MS,
    coveredMessages: settings.COVERED_MESSAGES,
    maxIterations: settings.MAX_ITERATIONS,
    maxToolCalls: settings.MAX_TOOL_CALLS,
    maxConsecutiveErrors: settings.MAX_CONSECUTIVE_ERRORS,
    maxToolCallsFromHistory: settings.MAX_TOOL_CALLS_FROM_HISTORY,
    toolChoice: settings.TOOL_CHOICE,
    requireApproval: settings.REQUIRE_APPROVAL,
    terminateOnUnknownCalls: settings.TERMINATE_ON_UNKNOWN_CALLS,
    toolTimeoutMs: settings.TOOL_TIMEOUT_MS,
    maxStreamFallbackAttempts: settings.MAX_STREAM_FALLBACK_ATTEMPTS,
    includeDetailedErrors: settings.INCLUDE_DETAILED_ERRORS,
  });

// A setting that cannot be used is refused when the server starts, not when the first run does.
build();

/**
 * A factory, so that each run has a graph of its own: the server sets checkpointer and store on the object that it
 * is given, and one shared object can lose them to a run beside it.
 */
export const graph = build;
