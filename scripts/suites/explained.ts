/** Why some tests of other projects fail with this library: what it does on purpose in another way. */

interface Explained {
  readonly reason: string;
  /** The ends of the tests' names. */
  readonly tests: readonly string[];
}

const EXPLAINED: readonly Explained[] = [
  {
    reason:
      "A response never replaces another message, and no call has the id of an earlier one. The models of these tests repeat their ids, which ends a run alone, or they demand the id.",
    tests: [
      "wrapToolCall should allow middleware to wrap tool execution and modify args and response",
      "wrapToolCall should chain multiple wrapToolCall handlers correctly",
      "wrapToolCall should allow middleware to handle tool errors",
      "wrapToolCall should provide access to state in wrapToolCall",
      "wrapToolCall should support returning Command from wrapToolCall",
      "wrapToolCall should work with multiple tools being called",
      "wrapToolCall should work alongside wrapModelCall middleware",
      "wrapToolCall should allow conditional tool execution based on state",
      "wrapToolCall should support tool execution timing and metrics",
      "wrapToolCall should support retry logic with exponential backoff",
      "wrapToolCall should allow modifying tool results based on tool properties",
      "wrapToolCall should work with three layers of middleware chaining",
      "middleware should propagate store to wrapToolCall middleware runtime",
      "createAgent should support native response format",
      "createAgent should handle mixed Command and non-Command tool outputs",
      "should allow to define private state props with _ that doesn't leak out",
      "should preserve Zod v4 reducer metadata when converting to v3-compatible schema",
      "ReducedValue reducer invocation should invoke reducer when tool returns Command with state update",
      "ReducedValue reducer invocation should invoke reducer multiple times for multiple tool calls",
      "StateSchema should invoke reducer through wrapToolCall returning Command",
      "tools can access state and context",
      "ToolNode error handling should use send error tool message if model creates wrong args",
      "humanInTheLoopMiddleware should auto-approve safe tools and interrupt for tools requiring approval",
      "humanInTheLoopMiddleware should return to model without executing approved tools when any tool is rejected",
      "humanInTheLoopMiddleware should handle manual response type",
      "tool call ordering should preserve original order when mixing auto-approved and interrupt tool calls",
      "exit behavior error should not throw if the thread limit is not exceeded",
      "exit behavior end should not throw if the thread limit is not exceeded",
      "should add the custom system prompt to the model request and custom tool description",
      "run.subagents surfaces a named subagent dispatched from a tool with its cause",
      "run.subagents surfaces three subagents dispatched in parallel from one tools step",
      "Subagent skills isolation should NOT inherit skills for custom subagents",
      "Subagent skills isolation should inherit skills for general-purpose subagent",
      "ForkedSubAgent should NOT include prior history for the default handoff mode",
      "ForkedSubAgent should include prior history and the parent's exact system prompt for a ForkedSubAgent",
      "ForkedSubAgent should exclude the in-flight AIMessage, including a parallel sibling tool call",
      "ForkedSubAgent should still inherit the parent's system prompt for a ForkedSubAgent even when its model differs",
      "ForkedSubAgent should fork message history into a CompiledSubAgent without throwing or touching its system prompt",
      "Subagent content block filtering should filter tool_use blocks from subagent response content",
      "Subagent content block filtering should filter thinking and redacted_thinking blocks from subagent response content",
      "Subagent content block filtering should filter Anthropic server-tool blocks from subagent response content",
      "Subagent content block filtering should use the last AIMessage with non-empty text, skipping a trailing empty message",
      "Subagent content block filtering should fall back to 'Task completed' when all content blocks are invalid",
      "Subagent content block filtering should pass through string content unchanged",
      "Subagent structured response should serialize structuredResponse as ToolMessage content",
      "Subagent structured response should fall back to last message when no structuredResponse is present",
      "ls_agent_type tracing metadata should set ls_agent_type on the subagent's LangSmith run but not on streamed metadata",
      "lc_agent_name propagation for subagents should pass subagent name for compiled subagents",
      "lc_agent_name propagation for subagents should pass subagent name for standard subagent specs",
    ],
  },
  {
    reason: "The edits of contextEditingMiddleware are for the request. The stored thread keeps its results.",
    tests: [
      "default behavior should clear tool results when exceeding default trigger threshold",
      "custom ClearToolUsesEdit configuration should respect custom trigger threshold",
      "custom ClearToolUsesEdit configuration should clear tool inputs when clearToolInputs is true",
      "custom ClearToolUsesEdit configuration should use custom placeholder text",
      "deprecated properties should support deprecated triggerTokens property",
      "deprecated properties should support deprecated keepMessages property",
      "deprecated properties should support deprecated clearAtLeast property",
      "custom editing strategies should support custom ContextEdit implementation",
    ],
  },
  {
    reason:
      "Every call has a result, and results are in the order of their calls. LangChain leaves calls of a wrong structured response without one.",
    tests: [
      "multiple structured output tool calls should retry if error handler is set to true",
      "multiple structured output tool calls should retry if the error handler is set to the MultipleStructuredOutputsError",
      "tool call ordering should reproduce ordering bug with HITL middleware",
    ],
  },
  {
    reason:
      "A model that is given by name is made before middleware inside sees it, and then has another name.",
    tests: ["is 'raise' should throw error if pass in a non-Anthropic model via string"],
  },
  {
    reason: "Two branches can remove the same message, and an error would make the thread unreadable.",
    tests: ["should throw on removing nonexistent message"],
  },
  {
    reason: "A result without a call is not stored, because every provider refuses it.",
    tests: ["should not assign message ID for tool messages"],
  },
];

/** Undefined if nobody has explained it. */
export function reasonFor(test: string): string | undefined {
  return EXPLAINED.find(({ tests }) => tests.some((end) => test.endsWith(end)))?.reason;
}
