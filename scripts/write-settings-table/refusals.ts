/** The refusals of all providers, as `docs/troubleshooting.md` lists them. */

import type { Dialect } from "../../src/providers/contract/dialect.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import type { Grade, RuleName } from "../../src/providers/contract/rule.js";
import { ruleNamed } from "../../src/providers/rules/rules.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";

/** The section of the page that says why a rule is broken, and what to do. */
const SECTIONS: Readonly<Record<RuleName, string>> = {
  "missing-result": "A tool call has no result",
  "server-call-without-result": "A tool call has no result",
  "orphan-result": "A tool result has no call",
  "server-result-without-call": "A tool result has no call",
  "duplicate-result": "Two results, or two calls with one id",
  "duplicate-call-id": "Two results, or two calls with one id",
  "repeated-call-id": "Two results, or two calls with one id",
  "result-order": "Two results, or two calls with one id",
  "call-position": "The order of turns",
  alternation: "The order of turns",
  "call-id": "Ids, and a user after a tool",
  "user-after-tool": "Ids, and a user after a tool",
  "empty-history": "The first and the last message",
  "first-user": "The first and the last message",
  "assistant-last": "The first and the last message",
  "system-position": "The first and the last message",
  role: "The first and the last message",
  arguments: "Arguments that are not JSON",
  "empty-calls": "Empty messages",
  "empty-assistant": "Empty messages",
  "blank-text": "Empty messages",
  "blank-user": "Empty messages",
  "blank-result": "Empty messages",
  "content-form": "Empty messages",
  "tool-name": "Names and blocks that a provider does not accept",
  "message-name": "Names and blocks that a provider does not accept",
  "foreign-block": "Names and blocks that a provider does not accept",
  "foreign-field": "Names and blocks that a provider does not accept",
  "cache-marks": "Names and blocks that a provider does not accept",
  "unpaired-surrogate": "Half of a character",
  "text-after-call": "Names and blocks that a provider does not accept",
  "missing-reasoning": "Reasoning that must be passed back",
  "reasoning-alone": "Reasoning of another model",
  "item-id": "Reasoning of another model",
  "foreign-state": "Reasoning of another model",
};

/** Whose error text it is. Undefined: the dialect repeats the texts of another one. */
const PROVIDERS: Readonly<Record<DialectName, string | undefined>> = {
  openai: "OpenAI",
  "openai-responses": "OpenAI's Responses API",
  "responses-compatible": undefined,
  dashscope: "DashScope",
  "dashscope-native": undefined,
  deepseek: "DeepSeek",
  anthropic: "Anthropic",
  gemini: "Gemini",
  mistral: "Mistral",
  bedrock: "Bedrock",
  "openai-compatible": undefined,
  xai: "xAI",
  kimi: "Kimi",
  glm: "GLM",
  minimax: "MiniMax",
  "anthropic-openai": undefined,
  "gemini-openai": undefined,
  "mistral-openai": undefined,
  "as-stored": undefined,
  strict: "other hosts",
};

/** Grades of texts that a provider really prints. */
const SAID: ReadonlySet<Grade> = new Set(["confirmed", "source", "documented"]);

/** Other texts for the same rules: of further hosts, and of providers that have several. The last one is the report. */
// biome-ignore format: one line for each text.
const FURTHER: readonly (readonly [provider: string, rule: RuleName, text: string, source: string])[] = [
  ["OpenAI", "orphan-result", "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.", "run-llama/multi-agent-concierge/pull/16"],
  ["OpenAI", "tool-name", "Invalid 'messages[…].tool_calls[0].function.name': empty string.", "continuedev/continue/issues/11645"],
  ["OpenAI's Responses API", "foreign-state", "Items are not persisted when `store` is set to false.", "vercel/ai/issues/7543"],
  ["OpenAI's Responses API", "item-id", "Invalid 'input[…].id': '…'. Expected an ID that begins with 'fc'.", "oracle/wayflow/pull/100"],
  ["OpenAI's Responses API", "item-id", "Invalid 'input[…].id': string too long. Expected a string with maximum length 64", "can1357/oh-my-pi/issues/457"],
  ["OpenAI's Responses API", "reasoning-alone", "Item '…' of type 'function_call' was provided without its required 'reasoning' item: '…'.", "can1357/oh-my-pi/issues/4173"],
  ["DeepSeek", "missing-result", "(insufficient tool messages following tool_calls message)", "TurixAI/TuriX-CUA/issues/15"],
  ["DeepSeek", "missing-reasoning", "Missing `reasoning_content` field in the assistant message at message index ….", "abhigyanpatwari/GitNexus/issues/43"],
  ["DeepSeek", "missing-reasoning", "The `content[].thinking` in the thinking mode must be passed back to the API.", "decolua/9router/issues/2397"],
  ["Anthropic", "missing-result", "Each `tool_use` block must have a corresponding `tool_result` block in the next message.", "anthropics/claude-code/issues/5989"],
  ["Anthropic", "orphan-result", "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", "anthropics/claude-code/issues/18947"],
  ["Anthropic", "duplicate-result", "each tool_use must have a single result. Found multiple tool_result blocks with id: …", "JohnnyZ93/oai-compatible-copilot/issues/270"],
  ["Anthropic", "arguments", "messages.….content.0.tool_use.input: Field required", "NousResearch/hermes-agent/issues/8835"],
  ["Anthropic", "alternation", 'messages: roles must alternate between "user" and "assistant"', "anomalyco/opencode/tree/678c40589f4c75ff88c139ee824ddb840908a912"],
  ["Anthropic", "foreign-state", "Expected `thinking` or `redacted_thinking`, but found `tool_use`.", "deepset-ai/haystack-core-integrations/issues/2146"],
  ["Anthropic", "foreign-state", "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", "anthropics/claude-code/issues/63574"],
  ["Gemini", "foreign-state", "Function call is missing a thought_signature in functionCall parts.", "MayDay-wpf/snow-cli/issues/104"],
  ["Mistral", "orphan-result", "Unexpected tool call id … in tool results", "mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py"],
  ["Mistral", "call-id", "Tool call IDs should be alphanumeric strings with length 9!", "vllm-project/vllm/issues/5649"],
  ["Bedrock", "blank-result", "The content field at messages.….content.0.toolResult cannot be empty when status value is error.", "aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15"],
  ["Kimi", "missing-reasoning", "thinking is enabled but reasoning_content is missing in assistant tool call message at index …", "continuedev/continue/issues/11600"],
  ["GLM", "role", "1214 角色信息不正确", "openclaw/openclaw/issues/23115"],
  ["GLM", "empty-assistant", "messages[…]:content和tool_calls 字段不能同时为空", "songquanpeng/one-api/issues/1153"],
  ["GLM", "first-user", "1214 messages 参数非法。请检查文档。", "lobehub/lobehub/issues/11408"],
  ["MiniMax", "missing-result", "invalid params, tool call result does not follow tool call (2013)", "anomalyco/opencode/pull/32609"],
  ["MiniMax", "orphan-result", "invalid params, tool result's tool id(…) not found (2013)", "MiniMax-AI/MiniMax-M2/issues/76"],
  ["MiniMax", "system-position", "invalid params, invalid chat setting (2013)", "openclaw/openclaw/issues/19386"],
  ["vLLM and other servers of open models", "arguments", "Unterminated string starting at: line 1 column … (char …)", "vllm-project/vllm/pull/48922"],
  ["vLLM and other servers of open models", "alternation", "Conversation roles must alternate user/assistant/user/assistant/...", "suitenumerique/conversations/issues/197"],
  ["Perplexity", "alternation", "After the (optional) system message(s), user and assistant roles should be alternating.", "perplexityai/api-discussion/issues/265"],
  ["Perplexity", "alternation", "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).", "serac-labs/serac/issues/53"],
  ["Ollama", "arguments", "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments", "aliasrobotics/cai/issues/76"],
  ["Ollama", "content-form", "invalid message content type: <nil>", "SAIL-Research-Lab/cheetahclaws/pull/72"],
  ["LM Studio", "content-form", "Invalid 'content': 'content' field must be a string or an array of objects.", "lmstudio-ai/lmstudio-bug-tracker/issues/261"],
  ["Groq", "content-form", "'messages.….content' : value must be a string", "tidyverse/ellmer/issues/162"],
];

export interface Refusal {
  readonly rule: RuleName;
  readonly provider: string;
  /** What changes from error to error is written as `…`. */
  readonly text: string;
}

/** Every text that a provider is known to print, once. */
export function refusals(): readonly Refusal[] {
  const seen = new Set<string>();
  const found: Refusal[] = [];
  for (const [name, { rules }] of Object.entries<Dialect>(DIALECTS))
    for (const [rule, { text, grade }] of Object.entries(rules) as [
      RuleName,
      Dialect["rules"][RuleName] & {},
    ][]) {
      const provider = PROVIDERS[name as DialectName];
      if (provider === undefined || !SAID.has(grade) || seen.has(`${rule} ${text}`)) continue;
      seen.add(`${rule} ${text}`);
      found.push({ rule, provider, text: text.replaceAll(/\{\w+\}/g, "…") });
    }
  return [...found, ...FURTHER.map(([provider, rule, text]) => ({ provider, rule, text }))];
}

/** Text that has backticks itself needs two around it. */
const asCode = (text: string) => (text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);

/**
 * The texts of each section by its title, with a heading for each rule, so that `langgraph-tether explain` can point to it.
 * A text that several rules of a section share stands once.
 */
export function refusalsOfSections(): ReadonlyMap<string, string> {
  const all = refusals();
  const sections = new Map<string, string>();
  for (const [rule, title] of Object.entries(SECTIONS) as [RuleName, string][]) {
    const before = sections.get(title) ?? "";
    const lines = all
      .filter((each) => each.rule === rule)
      .map(({ provider, text }) => `- ${provider}: ${asCode(text)}`)
      .filter((line, index, lines) => !before.includes(line) && lines.indexOf(line) === index);
    const parts = [before, `### ${rule}`, ruleNamed(rule).meaning, lines.join("\n")];
    sections.set(title, parts.filter((part) => part !== "").join("\n\n"));
  }
  return sections;
}
