/** Settings of the tools: which tools there are, who runs their calls, and what happens when they fail. */

import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { ProviderTool } from "../providers/models/provider-tools.js";
import { readFlag, readNames, readNumber, readText } from "./environment-text.js";
import { responseFormatRule } from "./format/read-response-format.js";
import { requireApprovalRule } from "./require-approval.js";
import { flag, listOf, milliseconds } from "./rule.js";
import type { SettingsTable } from "./setting.js";
import { toolChoiceRule } from "./tool-choice.js";

export const TOOL_SETTINGS = {
  /**
   * The LangChain tools that the model may call, at most 128, and tools that its provider runs, such as
   * `{ type: "web_search_preview" }`. A name has 1 to 64 letters, digits, `_` and `-`, begins with a letter or `_`,
   * and belongs to one tool only. Default: none.
   */
  tools: {
    ...listOf<StructuredToolInterface | ProviderTool>("tools"),
    help: 'The LangChain tools that the model may call, at most 128, and tools that its provider runs, such as `{ type: "web_search_preview" }`. A name has 1 to 64 letters, digits, `_` and `-`, begins with a letter or `_`, and belongs to one tool only. Default: none.',
    default: [],
  },
  /**
   * The tools whose calls wait for a human's approval: a list of names, a function that decides for each call, or an
   * object with options for each tool, as LangChain's `interruptOn`. Default: none.
   */
  requireApproval: {
    ...requireApprovalRule,
    help: "The tools whose calls wait for a human's approval: a list of names, a function that decides for each call, or an object with options for each tool, as LangChain's `interruptOn`. Default: none.",
    default: [],
    env: { name: "REQUIRE_APPROVAL", read: readNames, expects: "names of tools separated by commas" },
  },
  /**
   * Whether the model may (`auto`), must not (`none`) or must (`required`) call a tool. An object can name the
   * required tool and say what happens after its result. Default: `auto`.
   */
  toolChoice: {
    ...toolChoiceRule,
    help: "Whether the model may (`auto`), must not (`none`) or must (`required`) call a tool. An object can name the required tool and say what happens after its result. Default: `auto`.",
    default: "auto",
    env: { name: "TOOL_CHOICE", read: readText, expects: "auto, none or required" },
    perRun: true,
  },
  /**
   * The format of the final response: a zod or JSON schema, `toolStrategy(…)` or `providerStrategy(…)`. The response is
   * in `structuredResponse`. Default: a text.
   */
  responseFormat: {
    ...responseFormatRule,
    help: "The format of the final response: a zod or JSON schema, `toolStrategy(…)` or `providerStrategy(…)`. The response is in `structuredResponse`. Default: a text.",
    default: undefined,
  },
  /** Tools that the model may call and the caller of the run executes, as with `autoInvoke: false`. Default: none. */
  additionalTools: {
    ...listOf<BindToolsInput>("tools"),
    help: "Tools that the model may call and the caller of the run executes, as with `autoInvoke: false`. Default: none.",
    default: [],
  },
  /**
   * Whether the graph runs the tool calls of its model. If not, a run ends with the calls, the caller sends the
   * results as input, and the model goes on when all of them are there. Default: true.
   */
  autoInvoke: {
    ...flag,
    help: "Whether the graph runs the tool calls of its model. If not, a run ends with the calls, the caller sends the results as input, and the model goes on when all of them are there. Default: true.",
    default: true,
  },
  /**
   * Whether a call of an unknown tool ends the run. If not, the model is told about its mistake and goes on.
   * Default: false.
   */
  terminateOnUnknownCalls: {
    ...flag,
    help: "Whether a call of an unknown tool ends the run. If not, the model is told about its mistake and goes on. Default: false.",
    default: false,
    env: { name: "TERMINATE_ON_UNKNOWN_CALLS", read: readFlag },
  },
  /**
   * Whether the model reads the message of an error that a tool threw. If not, it is only told that the tool failed.
   * Default: false.
   */
  includeDetailedErrors: {
    ...flag,
    help: "Whether the model reads the message of an error that a tool threw. If not, it is only told that the tool failed. Default: false.",
    default: false,
    env: { name: "INCLUDE_DETAILED_ERRORS", read: readFlag },
  },
  /** How many milliseconds a tool call may take. After that it ends with an error. Default: no limit. */
  toolTimeoutMs: {
    ...milliseconds,
    help: "How many milliseconds a tool call may take. After that it ends with an error. Default: no limit.",
    default: undefined,
    env: { name: "TOOL_TIMEOUT_MS", read: readNumber },
  },
} as const satisfies SettingsTable;
