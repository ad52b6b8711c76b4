/** The refusals of all providers, as `docs/troubleshooting.md` lists them. */

import { DIALECTS, type DialectName } from "../../src/providers/dialects.js";
import { type Dialect, type Grade, RULES, type RuleName } from "../../src/providers/rule.js";

/** The section of the page that says why a rule is broken, and what to do. */
const SECTIONS: Readonly<Record<RuleName, string>> = {
  "missing-result": "A tool call has no result",
  "server-call-without-result": "A tool call has no result",
  "orphan-result": "A tool result has no call",
  "server-result-without-call": "A tool result has no call",
  "duplicate-result": "Two results, or two calls with one id",
  "repeated-call-id": "Two results, or two calls with one id",
  "result-order": "Two results, or two calls with one id",
  "call-position": "Gemini: the order of turns",
  alternation: "Gemini: the order of turns",
  "call-id": "Mistral: roles and ids",
  "user-after-tool": "Mistral: roles and ids",
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
  "tool-name": "Names and blocks that a provider does not take",
  "message-name": "Names and blocks that a provider does not take",
  "foreign-block": "Names and blocks that a provider does not take",
  "unpaired-surrogate": "Half of a character",
  "text-after-call": "Names and blocks that a provider does not take",
  "missing-reasoning": "Reasoning that must be passed back",
  "reasoning-alone": "Reasoning of another model",
  "item-id": "Reasoning of another model",
  "foreign-state": "Reasoning of another model",
};

/** Whose error text it is. Undefined: the dialect repeats the texts of another one. */
const PROVIDERS: Readonly<Record<DialectName, string | undefined>> = {
  openai: "OpenAI",
  "openai-responses": "OpenAI's Responses API",
  dashscope: "DashScope",
  "dashscope-native": undefined,
  deepseek: "DeepSeek",
  anthropic: "Anthropic",
  gemini: "Gemini",
  mistral: "Mistral",
  "openai-compatible": undefined,
  "anthropic-openai": undefined,
  "gemini-openai": undefined,
  "mistral-openai": undefined,
  strict: "other hosts",
};

/** Grades of texts that a provider really prints. */
const SAID: ReadonlySet<Grade> = new Set(["confirmed", "source", "documented"]);

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
  return found;
}

const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}_ -]/gu, "")
    .replaceAll(" ", "-");

/** Text that has backticks itself needs two around it. */
const asCode = (text: string) => (text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);

/** One heading for each rule, so that `langgraph-tether explain` can point to it. */
export function refusalsPage(): string {
  const all = refusals();
  return Object.entries(RULES)
    .map(([rule, { meaning }]) => {
      const title = SECTIONS[rule as RuleName];
      const texts = all
        .filter((each) => each.rule === rule)
        .map(({ provider, text }) => `- ${provider}: ${asCode(text)}`);
      const about = `${meaning} See [${title}](#${anchorOf(title)}).`;
      return [`### ${rule}`, about, ...(texts.length > 0 ? [texts.join("\n")] : [])].join("\n\n");
    })
    .join("\n\n");
}
