/** Removes keys from texts. Providers repeat keys in their errors. */

import { LEAST_LENGTH, secretsOf } from "./secrets.js";

const REDACTED = "[redacted]";

/** Patterns of keys. They apply wherever a key comes from. */
const LOOKS_SECRET: readonly RegExp[] = [
  /(?<=\b(?:Bearer|Basic)\s+)[\w.~+/=*-]{16,}/gi,
  // OpenAI, Anthropic, DeepSeek, DashScope; Groq; xAI; Google.
  /\b(?:sk|gsk|xai)-[\w*-]{6,}/g,
  /\bgsk_\w{6,}/g,
  /\bAIza[\w-]{6,}/g,
  /(?<=[?&](?:api[-_]?key|key|token|access_token|sig|signature)=)[^&\s"']+/gi,
  /(?<=:\/\/)[^/\s:@]+:[^/\s@]+(?=@)/g,
];

/** Contract: returns the text without known secrets and without anything that looks like one. */
export type Redact = (text: string) => string;

/** @param model The model of the request. Its own keys are found wherever it keeps them. */
export function createRedact(model: object): Redact {
  // Longest first, because one secret can begin with another.
  const secrets = [...secretsOf(model)].sort((one, other) => other.length - one.length);
  return (text) => {
    const known = secrets.reduce(withoutSecret, text);
    return LOOKS_SECRET.reduce((rest, pattern) => rest.replace(pattern, REDACTED), known);
  };
}

function withoutSecret(text: string, secret: string): string {
  if (secret.length >= LEAST_LENGTH) return text.replaceAll(secret, REDACTED);
  // A short secret can also be a part of an ordinary word.
  const escaped = secret.replaceAll(
    /[^A-Za-z0-9]/g,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
  return text.replaceAll(new RegExp(`(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])`, "gu"), REDACTED);
}
