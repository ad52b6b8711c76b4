/** Reads from a provider's error that the request was too long for the model. */

import { isRecord } from "../../shared/values.js";
import { innermost } from "../dialect-of.js";

/** A request that a provider refused because it is too long. Numbers are the provider's tokens. */
export interface Overflow {
  /** How many tokens the input may have, if the provider says so. */
  readonly limit: number | undefined;
  /** How many tokens the input had, if the provider says so. */
  readonly sent: number | undefined;
}

/**
 * Each provider's words. `limit`: the window. `input`: the tokens of the messages. `total`: these and the reserved
 * output. `output`: the reserved output, which takes its room from the input.
 */
const WORDS: readonly RegExp[] = [
  // OpenAI, status 400, `context_length_exceeded`: "This model's maximum context length is 4097 tokens. However, your
  // messages resulted in 4619 tokens." (ChatGPTNextWeb/NextChat#625)
  // The same words with "you requested 131134 tokens (122942 in the messages, 8192 in the completion)": DeepSeek
  // (evalstate/fast-agent#621), vLLM (vllm#20409). OpenRouter: "you requested about 243013 tokens (238917 of text
  // input, 4096 in the output)" (continuedev/continue#10690).
  words(
    `maximum context length is <limit> tokens[.,;]? *(?:however)?,? *(?:your messages resulted in|you requested(?: about)?) <total> tokens(?:[^)]*?<output> (?:in|for) the (?:completion|output))?`,
  ),
  // OpenAI: "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens."
  // (archi-physics/archi#497)
  words("exceed the configured limit of <limit> tokens. Your messages resulted in <input> tokens"),
  // OpenAI's Responses API: "Your input exceeds the context window of this model." (the-open-agent/openagent#2344)
  words("exceeds the context window"),
  // OpenAI, `string_above_max_length`: "Invalid 'messages[1].content': string too long. Expected a string with maximum
  // length 1048576, but got a string with length 1056035 instead." The numbers are characters of one message.
  words("Invalid '(?:messages|input)[^']*(?:content|output|text|arguments)[^']*': string too long"),
  // vLLM: "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096
  // tokens and your request has 2104 input tokens (2000 > 4096 - 2104)."
  words("maximum context length is <limit> tokens and your request has <input> input tokens \\(<output> >"),
  // vLLM: "You passed 7681 input tokens and requested 512 output tokens. However, the model's context length is only
  // 8192 tokens, resulting in a maximum input length of 7680 tokens."
  words(
    "passed <input> input tokens and requested <output> output tokens.*?context length is only <limit> tokens",
  ),
  words("maximum context length is <limit> tokens"),
  // Anthropic, status 400: "prompt is too long: 208310 tokens > 200000 maximum" (anthropics/claude-code#12186)
  words("prompt is too long(?:: <input> tokens > <limit> maximum)?"),
  // Anthropic: "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or
  // `max_tokens` and try again" (docker/docker-agent#569)
  words("input length and `?max_tokens`? exceed context limit: <input> \\+ <output> > <limit>"),
  // Gemini, status 400: "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."
  // (google-gemini/gemini-cli#6678)
  words("input token count \\(<input>\\) exceeds the maximum number of tokens allowed \\(<limit>\\)"),
  // Vertex AI: "Unable to submit request because the input token count is 32825 but model only supports up to 32768."
  words("input token count is <input> but model only supports up to <limit>"),
  // DashScope, status 400: "Range of input length should be [1, 30720]" (QwenLM/Qwen-Agent#615)
  words("Range of input length should be \\[\\d+, ?<limit>\\]"),
  // Mistral, status 400: "Prompt contains 300000 tokens, too large for model with 131072 maximum context length"
  words("Prompt contains <input> tokens.*?too large for model with <limit> maximum context length"),
  // xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
  words("maximum prompt length is <limit> but the request contains <input> tokens"),
  // Groq, `context_length_exceeded`: "Please reduce the length of the messages or completion."
  words("reduce the length of the (?:input )?(?:messages|prompt)"),
  // llama.cpp, `exceed_context_size_error`: "request (23908 tokens) exceeds the available context size (16384 tokens)"
  words("request \\(<input> tokens\\) exceeds the available context size \\(<limit> tokens\\)"),
  words("exceeds the available context size"),
  // LM Studio: "The number of tokens to keep from the initial prompt is greater than the context length"
  words("greater than the context length"),
  // Ollama: "prompt too long; exceeded max context length by 4096 tokens"
  words("prompt too long; exceeded (?:max )?context length"),
  // Bedrock: "Input is too long for requested model."
  words("input is too long for requested model"),
  // Kimi: "Your request exceeded model token limit: 262144 (requested: 300000)"
  words("exceeded model token limit: <limit> \\(requested: <total>\\)"),
  // MiniMax: "invalid params, context window exceeds limit"
  words("context window exceeds limit"),
];

/** Names and codes that say it without words. `ContextOverflowError` is LangChain's. */
const NAMES: ReadonlySet<unknown> = new Set([
  "ContextOverflowError",
  "CONTEXT_OVERFLOW",
  "context_length_exceeded",
  "exceed_context_size_error",
  "model_context_window_exceeded",
]);
/** The body of the request is too large. */
const TOO_LARGE = 413;
/** Statuses that say something else than that the request is too long. */
const OTHER_STATUSES: ReadonlySet<unknown> = new Set([401, 402, 403, 404, 408, 429]);
/** A rate limit on tokens passes with time. Groq sends it with status 413. */
const RATE_LIMIT = /tokens per (?:minute|min|day)|\bTP[MD]\b|rate limit/i;

const LONGEST_CHAIN = 5;

/**
 * Reads a model's error and its causes. Undefined if a shorter input would not help: for any other error, for a rate
 * limit, and if the reserved output alone fills the window.
 */
export function readOverflow(error: unknown): Overflow | undefined {
  const chain = causesOf(error);
  if (chain.some(({ status }) => OTHER_STATUSES.has(status))) return undefined;
  const texts = chain.map(({ message }) => (typeof message === "string" ? message : ""));
  if (texts.some((text) => RATE_LIMIT.test(text))) return undefined;
  for (const pattern of WORDS) {
    for (const text of texts) {
      const match = pattern.exec(text);
      if (match !== null) return numbersOf(match.groups ?? {});
    }
  }
  const isNamed = chain.some(
    ({ name, code, type, lc_error_code, status }) =>
      [name, code, type, lc_error_code].some((value) => NAMES.has(value)) || status === TOO_LARGE,
  );
  return isNamed ? { limit: undefined, sent: undefined } : undefined;
}

function numbersOf(groups: Readonly<Record<string, string | undefined>>): Overflow | undefined {
  const read = (name: string): number | undefined => {
    const digits = groups[name]?.replaceAll(",", "");
    return digits === undefined ? undefined : Number(digits);
  };
  const [window, output = 0, total] = [read("limit"), read("output"), read("total")];
  const limit = window === undefined ? undefined : window - output;
  if (limit !== undefined && limit <= 0) return undefined;
  return { limit, sent: read("input") ?? (total === undefined ? undefined : total - output) };
}

function causesOf(error: unknown, depth = 0): Readonly<Record<string, unknown>>[] {
  if (!isRecord(error) || depth === LONGEST_CHAIN) return [];
  const read = (name: string): unknown => Reflect.get(error, name);
  const status = read("status") ?? read("statusCode");
  const { name, message, code, type, lc_error_code } = {
    name: read("name"),
    message: read("message"),
    code: read("code"),
    type: read("type"),
    lc_error_code: read("lc_error_code"),
  };
  return [{ name, message, code, type, lc_error_code, status }, ...causesOf(read("cause"), depth + 1)];
}

/** `<name>` is a number. */
function words(text: string): RegExp {
  return new RegExp(
    text.replaceAll(/<(limit|input|total|output)>/g, (_, name: string) => `(?<${name}>[\\d,]+)`),
    "is",
  );
}

/*
 * The input window of a model: what its client states, and what a refusal taught this process.
 */

const learned = new WeakMap<object, number>();

/** The window that LangChain's client states in `profile`, in tokens. Undefined if it states none. */
function statedWindowOf(model: unknown): number | undefined {
  const profile: unknown = isRecord(model) ? model["profile"] : undefined;
  const window: unknown = isRecord(profile) ? profile["maxInputTokens"] : undefined;
  return typeof window === "number" && window > 0 ? window : undefined;
}

/** The most tokens, by our estimate, of a request that the model may accept. Undefined if none was refused. */
export function learnedWindowOf(model: object): number | undefined {
  return learned.get(innermost(model));
}

/** Remembers that the model refused a longer request. A larger value than before changes nothing. */
export function learnWindow(model: object, tokens: number): void {
  learned.set(innermost(model), Math.min(tokens, learnedWindowOf(model) ?? tokens));
}

/** The bound of a request: the smaller of both. Undefined if neither is known. */
export function windowOf(model: object): number | undefined {
  const known = [statedWindowOf(model), learnedWindowOf(model)].filter((window) => window !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** What each attempt makes of the bound that the provider's numbers name. Our estimate may be far off. */
const MARGINS = [0.95, 0.8, 0.5] as const;
/** Shares of the refused request, for a provider that names no numbers. */
const SHARES = [0.7, 0.3, 0.1] as const;
/** Every chat model takes this much. It is tried last, for a provider that names no numbers. */
const LEAST_WINDOW = 4_000;

/** How often in a row a request that is too long is made again. */
export const MOST_OVERFLOWS = MARGINS.length;

/**
 * The bound of the next request, in estimated tokens.
 *
 * @param estimate The estimated tokens of the refused request.
 * @param attempt How many requests in a row were refused before it.
 */
export function lowerBound({ limit, sent }: Overflow, estimate: number, attempt: number): number {
  const margin = MARGINS[attempt] ?? 0;
  const share = estimate * (SHARES[attempt] ?? 0);
  if (limit !== undefined && sent !== undefined && sent > limit)
    return Math.floor(estimate * (limit / sent) * margin);
  if (limit !== undefined) return Math.floor(Math.min(limit * margin, share));
  return Math.floor(attempt === MOST_OVERFLOWS - 1 ? Math.min(share, LEAST_WINDOW) : share);
}
