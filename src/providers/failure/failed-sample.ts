/** Tells a failure of the model's own sampling from a refusal. The same request can succeed. */

import { statusOf } from "./model-failure.js";
import type { ProviderWords } from "./own-words.js";
import { namedPart } from "./part-at-fault.js";
import { concernsMessages } from "./refusal.js";

/** The codes of providers: `tool_use_failed`, `json_validate_failed`, `MALFORMED_FUNCTION_CALL`. */
const CODE =
  /\b(?:(?:tool use|(?:tool|function) calls?|json(?: validate| generate)?|generation|sampling|output parse) failed|failed generation|malformed function call)\b/;
/** The whole sentence, or its end. With `metadata.raw`, OpenRouter also says what its provider returned. */
const SENTENCE =
  /^(?:error|provider returned error\.?)$|\bplease (?:retry|try again)(?: later)?\.?$|^.{0,80}\bMALFORMED_FUNCTION_CALL\b/i;

const MENTION = /provider returned error|please (?:retry|try again)|malformed_function_call/gi;

/** @param words Those of the error. */
export function isFailedSample(error: unknown, words: ProviderWords): boolean {
  const status = statusOf(error);
  if (status !== undefined && !concernsMessages(status)) return false;
  const { codes, sentences } = words;
  if (codes.some((code) => CODE.test(code))) return true;
  const said = sentences.filter((sentence) => sentence !== "");
  // A user can end a quoted text with the same words.
  const isOwn = words.mention(MENTION) && namedPart(words) === undefined;
  return isOwn && said.every((sentence) => SENTENCE.test(sentence));
}
