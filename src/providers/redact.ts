/** Takes keys out of texts: providers repeat them in what they answer. */

const REDACTED = "[redacted]";

/** What is a key by its look, wherever it comes from. */
const LOOKS_SECRET: readonly RegExp[] = [
  /(?<=\b(?:Bearer|Basic)\s+)[\w.~+/=*-]{16,}/gi,
  // OpenAI, Anthropic, DeepSeek, DashScope; Groq; xAI; Google.
  /\b(?:sk|gsk|xai)-[\w*-]{6,}/g,
  /\bgsk_\w{6,}/g,
  /\bAIza[\w-]{6,}/g,
  /(?<=[?&](?:api[-_]?key|key|token|access_token)=)[^&\s"']+/gi,
  /(?<=:\/\/)[^/\s:@]+:[^/\s@]+(?=@)/g,
];

/** Names under which clients keep keys and what they send in headers. */
const SECRET_NAME = /key|token|secret|password|authorization|credential/i;
const LEAST_LENGTH = 8;
const DEEPEST = 3;

/** Contract: returns the text without the secrets and without what looks like one. */
export type Redact = (text: string) => string;

/** @param model What is asked: its own keys are known wherever it keeps them. */
export function createRedact(model: object): Redact {
  // The longest first: one may begin with another.
  const secrets = [...findSecrets(model)].sort((one, other) => other.length - one.length);
  return (text) => {
    const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
    return LOOKS_SECRET.reduce((rest, pattern) => rest.replace(pattern, REDACTED), known);
  };
}

function findSecrets(holder: object, found = new Set<string>(), seen = new Set<object>(), depth = 0) {
  seen.add(holder);
  const entries = holder instanceof Headers ? [...holder] : Object.entries(holder);
  for (const [name, value] of entries as (readonly [string, unknown])[]) {
    if (typeof value === "string" && SECRET_NAME.test(name)) {
      const secret = value.replace(/^(Bearer|Basic)\s+/i, "").trim();
      if (secret.length >= LEAST_LENGTH) found.add(secret);
    } else if (typeof value === "object" && value !== null && !seen.has(value) && depth < DEEPEST) {
      findSecrets(value, found, seen, depth + 1);
    }
  }
  return found;
}
