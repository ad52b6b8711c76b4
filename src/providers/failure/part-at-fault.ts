/**
 * Tells from the form of a refusal which part of the request is at fault, whoever refuses it: its messages, or something
 * that another form of the messages cannot cure. Sentences of providers are not listed here: they change with each
 * release.
 */

import type { ProviderWords } from "./own-words.js";

/** `other`: the key, the account, a policy, the model or a parameter. */
export type PartAtFault = "messages" | "other";

/** What the fields of the error say. Undefined: nothing about it. */
export function namedPart({ codes, paths }: ProviderWords): PartAtFault | undefined {
  if (codes.some((code) => ACCOUNT_OR_POLICY.test(code))) return "other";
  if (paths.some((path) => MESSAGES.test(path))) return "messages";
  const isOther =
    paths.some((path) => !WHOLE_BODY.test(path)) || codes.some((code) => PARAMETER_CODE.test(code));
  return isOther ? "other" : undefined;
}

/** What the sentences of the error say. Undefined: nothing about it. */
export function saidPart(words: ProviderWords): PartAtFault | undefined {
  if (words.mention(PLACE)) return words.mention(POLICY) ? "other" : "messages";
  if (words.mention(ACCOUNT) || words.mention(POLICY)) return "other";
  return words.mention(PARAMETER) && !words.mention(OF_MESSAGES) ? "other" : undefined;
}

/** The names of the messages in the protocols. */
const MESSAGES = /^\W*(?:body\W+)?(?:\w{1,40}Request\W+)?(?:messages|input|contents|system)\b/i;
const WHOLE_BODY = /^\W{0,5}(?:(?:body|request)\W{0,5})?$/i;
const PLACE = /(?<!\w)(?:messages|input|contents)(?:\.|\[|\/)\W?\d/gi;

const account =
  "api ?keys?|credentials?|auth(?:entication|orization|orized)?|unauthori[sz]ed|unauthenticated|permission|forbidden|access denied|" +
  "organi[sz]ation|workspace|account|billing|payment|credits?|balance|arrear\\w*|quota|usage limits?|throttl\\w*|rate limit\\w*|" +
  "tokens per (?:minute|day)|terms (?:acceptance|of)|(?:user )?location is|region|subscription|on-demand|" +
  // The model itself.
  "(?:unknown|invalid|unsupported|no such|wrong) model|model (?:id|identifier|name|(?:does )?not (?:exist|found|available))|" +
  "model \\S{1,100} (?:(?:does|is|was|has) )?(?:not (?:exist|found|available)|requires)|decommissioned|deprecated";
const policy =
  "polic(?:y|ies)|moderation|flagged|safety|(?<!case[- ])sensitive|inappropriate|unsafe|(?:high|exists?) risk|content filter\\w*|" +
  "inspection|guardrails?|prohibited|cyber|blocked|敏感|违规|不安全";
const parameter =
  "parameters?|(?:request )?arguments? supplied|temperature|top[_ ]?[pk]|max[_a-z]{0,20}tokens|(?:frequency|presence|repetition)[_ ]penalty|" +
  "seed|stop[_ ]sequences?|logprobs|logit_bias|tool[_ ]choice|tool use|tools|functions?|function[_ ](?:declarations?|calling)|" +
  "parallel_tool_calls|response[_ ](?:format|mime|schema)\\w*|mime type|json[_ ]?schema|schema|enable_thinking|thinking|reasoning|" +
  "budget(?:_tokens)?|effort|verbosity|service_tier|stream(?:ing)?|betas?";

/** Words stand alone, also beside letters of other scripts and underscores. */
const alone = (words: string, flags: string) => new RegExp(`(?<![a-z0-9])(?:${words})(?![a-z0-9])`, flags);

const ACCOUNT_OR_POLICY = alone(`${account}|${policy}|invalid prompt`, "i");
const ACCOUNT = alone(account, "gi");
const POLICY = alone(policy, "gi");
const PARAMETER = alone(parameter, "gi");
const PARAMETER_CODE = alone("(?:unsupported|unknown) (?:parameter|value)s?", "i");
/** What is in messages. Their refusals can also name thinking, functions and tools. */
const OF_MESSAGES = alone(
  "messages?|contents?|conversations?|history|roles?|turns?|assistant|parts?|blocks?|items?|signatures?|" +
    "tool[_ ](?:results?|calls?|use(?:[_ ]ids?)|call[_ ]ids?)|function (?:calls?|responses?|outputs?)|call_id",
  "gi",
);
