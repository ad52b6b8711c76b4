import { nearestOf } from "../../shared/did-you-mean.js";

/** Providers by the first letters of their models' names. */
const MAKERS: readonly (readonly [beginning: RegExp, provider: string])[] = [
  [/^(gpt|chatgpt|o\d)/i, "openai"],
  [/^claude/i, "anthropic"],
  [/^(gemini|gemma)/i, "google-genai"],
  [/^deepseek/i, "deepseek"],
  [/^(mistral|ministral|codestral|magistral)/i, "mistralai"],
  [/^qw/i, "qwen"],
  [/^grok/i, "xai"],
];

/** The name that was probably meant, as `provider:model`. Undefined if no guess is possible. */
export function nearestModelName(given: string, providers: readonly string[]): string | undefined {
  const separator = given.indexOf(":");
  if (separator === -1) {
    const provider = makerOf(given);
    // A provider alone lacks the model, which only the caller knows.
    if (given === "offline") return "offline:";
    return provider === undefined || providers.includes(given) ? undefined : `${provider}:${given}`;
  }
  const [name, model] = [given.slice(0, separator), given.slice(separator + 1)];
  const provider = nearestOf(name, providers) ?? makerOf(name);
  return model === "" || provider === undefined || provider === name ? undefined : `${provider}:${model}`;
}

function makerOf(name: string): string | undefined {
  return MAKERS.find(([beginning]) => beginning.test(name))?.[1];
}
