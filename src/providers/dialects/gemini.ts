/** The rules of Google's Gemini. */

import { confirmed, type Dialect, inferred } from "./rule.js";

export const gemini = {
  rules: {
    "empty-history": inferred("contents is not specified"),
    "missing-result": confirmed(
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      "https://github.com/microsoft/vscode/issues/299295",
    ),
    "orphan-result": confirmed(
      "Please ensure that function response turn comes immediately after a function call turn.",
      "https://github.com/langchain-ai/langchain/issues/27799",
    ),
    "duplicate-result": confirmed(
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      "https://github.com/microsoft/vscode/issues/299295",
    ),
    // Up to Gemini 2.5 results are matched by place, as the client sends no ids; that place is the call order is inferred.
    "result-order": inferred("Results are matched with calls by their order."),
    "call-id": inferred("The client finds the tool's name by the id of the call."),
    "repeated-call-id": inferred("The client finds the tool's name by the id of the call."),
    "tool-name": confirmed(
      "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.",
      "https://github.com/google-gemini/gemini-cli/issues/7869",
    ),
    arguments: inferred("Invalid value at 'contents[{index}].parts[0].function_call.args'"),
    role: inferred("Please use a valid role: user, model."),
    "content-form": confirmed(
      "contents.parts must not be empty",
      "https://github.com/CopilotKit/CopilotKit/issues/1964",
    ),
    // The client throws before it sends anything.
    "foreign-block": inferred("Unknown content type {name}"),
    "empty-assistant": confirmed(
      "contents.parts must not be empty",
      "https://github.com/CopilotKit/CopilotKit/issues/1964",
    ),
    "blank-user": confirmed(
      "contents.parts must not be empty",
      "https://github.com/CopilotKit/CopilotKit/issues/1964",
    ),
    "system-position": inferred("System message should be the first one"),
    "first-user": confirmed(
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      "https://github.com/continuedev/continue/issues/11164",
    ),
    // Older models.
    "assistant-last": confirmed(
      "Please ensure that multiturn requests ends with a user role or a function response.",
      "https://github.com/songquanpeng/one-api/issues/836",
    ),
    // Older models.
    alternation: confirmed(
      "Please ensure that multiturn requests alternate between user and model.",
      "https://github.com/microsoft/autogen/issues/2900",
    ),
    "call-position": confirmed(
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      "https://github.com/continuedev/continue/issues/11164",
    ),
    "foreign-state": confirmed(
      "Corrupted thought signature.",
      "https://github.com/earendil-works/pi/issues/471",
    ),
  },
  callPlaces: ["listed", "block"],
  callId: /^[a-zA-Z0-9_-]{1,64}$/,
  toolName: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
  assistantBlocks: ["text", "thinking", "executableCode", "codeExecutionResult", "functionCall"],
  ignoredBlocks: [],
  // Thoughts may be sent, and need not be: they are not kept, as a `thinking` block may be Anthropic's.
  stateBlocks: ["executableCode", "codeExecutionResult", "functionCall"],
  stateFields: [
    { place: "additional_kwargs", name: "__gemini_function_call_thought_signatures__" },
    { place: "additional_kwargs", name: "signatures" },
  ],
  blocksIn: ["human", "ai"],
  media: "gemini",
  makers: ["google-genai", "google", "google-vertexai"],
} as const satisfies Dialect;
