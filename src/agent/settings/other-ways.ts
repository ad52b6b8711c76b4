/** What to do in place of options that other libraries have for an agent, and `createAgentGraph` has not. */

/**
 * Options of LangGraph's `createReactAgent`, LangChain's `createAgent`, deepagents, the AI SDK, Mastra and OpenAI's
 * Agents SDK. An option that is missing here is unknown, as any other is.
 */
const WAYS: readonly (readonly [way: (name: string) => string, names: readonly string[]])[] = [
  [
    () =>
      'Give it to the class of the model, under its name there: `model: new ChatOpenAI({ model: "…", temperature: 0 })`.',
    [
      "temperature",
      "topP",
      "topK",
      "seed",
      "stop",
      "stopSequences",
      "presencePenalty",
      "frequencyPenalty",
      "maxOutputTokens",
      "maxRetries",
      "apiKey",
      "baseURL",
      "headers",
      "modelKwargs",
      "modelSettings",
      "providerOptions",
    ],
  ],
  [
    () =>
      "Use `middleware: [chatMiddleware(…)]`: it sees each request and its response, and can change both.",
    ["preModelHook", "postModelHook", "prepareStep", "beforeModel", "afterModel", "wrapModelCall"],
  ],
  [
    () => "Use `middleware: [functionMiddleware(…)]`: it sees each tool call and its result.",
    ["wrapToolCall", "beforeToolCall", "afterToolCall"],
  ],
  [
    () => "Use `middleware: [agentMiddleware(…)]`: it sees each run, before and after.",
    [
      "beforeAgent",
      "afterAgent",
      "inputProcessors",
      "outputProcessors",
      "inputGuardrails",
      "outputGuardrails",
    ],
  ],
  [() => "Make each agent a tool: docs/agents-as-tools.md shows how.", ["subagents", "agents", "handoffs"]],
  [
    () => "Read the events of the run from its stream, in the mode `custom`: docs/serving.md lists them.",
    ["onStepFinish", "onFinish", "onEvent"],
  ],
  [
    (name) => `Pass \`${name === "abortSignal" ? "signal" : name}\` to \`invoke\` or \`stream\`.`,
    ["messages", "signal", "abortSignal", "callbacks", "configurable"],
  ],
  [
    () =>
      "To ask a human before a tool, use `requireApproval`. `interruptBefore` and `interruptAfter` belong to `invoke` and `stream`.",
    ["interruptBefore", "interruptAfter"],
  ],
];

/** A sentence about the option; undefined if nothing is known about it. */
export function adviceOn(name: string): string | undefined {
  const row = WAYS.find(([, names]) => names.includes(name));
  return row?.[0](name);
}
