/** The step that leaves out pictures and files that the provider does not accept. */

import { mapBlocks } from "../../history/message.js";
import type { Target } from "../contract/author.js";
import type { Block, MediaLimits } from "../contract/dialect.js";
import { describeMedia, faultOfMedia, type ShownMedia, shownIn, typeOf } from "../media/media-limits.js";
import type { InputStep } from "../rules/rule.js";

/*
 * A picture or file that the provider does not accept becomes a sentence that says what it was and why it is not shown.
 * A picture whose bytes contradict its stated type gets its real type, because providers compare both.
 */

const NOT_KNOWN: MediaLimits = {};

export const limitMedia: InputStep = (target) => (message) =>
  message.type === "human" || message.type === "tool"
    ? mapBlocks(message, (block) => limited(block, target))
    : message;

/** Why a sentence replaces it, as the end of a sentence. Undefined: it is shown. */
export function whyDescribed(shown: ShownMedia, { dialect, described }: Target): string | undefined {
  return described?.get(shown.fingerprint) ?? faultOfMedia(shown, dialect.mediaLimits ?? NOT_KNOWN);
}

function limited(block: Block, target: Target): Block {
  const shown = shownIn(block);
  if (shown === undefined) return block;
  const why = whyDescribed(shown, target);
  if (why !== undefined) return { type: "text", text: describeMedia(shown, why) };
  return withRealType(block, shown);
}

/** Only if the bytes contradict the stated type. A missing type has a default. */
function withRealType(block: Block, shown: ShownMedia): Block {
  const { data, mimeType, kind, name } = shown.media;
  const real = typeOf(shown);
  if (kind !== "image" || data === undefined || real === undefined || real === mimeType) return block;
  if (!real.startsWith("image/")) return block;
  return { type: "image", mimeType: real, data, ...(name !== undefined && { metadata: { name } }) };
}
