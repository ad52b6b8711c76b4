/** The rules of Mistral's own validator. vLLM uses the same validator for Mistral's models. */

import { COMMON, type Dialect, isOf, type MediaLimits } from "../../contract/dialect.js";
import { IMAGE_URL, overOpenAI } from "../../contract/openai-protocol.js";
import { confirmed, EVERYWHERE, fromSource, INFERRED } from "../../contract/rule.js";

/** The texts in `fromSource` were read there. */
const VALIDATOR = "mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py";

/** https://docs.mistral.ai/capabilities/vision: the types, 10 MB per picture, 8 pictures per request. */
const mediaLimits: MediaLimits = {
  types: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  mostCharacters: (10 * 1_024 * 1_024 * 4) / 3,
  mostPictures: 8,
};

export const mistral = {
  ...COMMON,
  mediaLimits,
  rules: {
    ...EVERYWHERE,
    "empty-history": fromSource("Conversation must have at least one message", VALIDATOR),
    "missing-result": confirmed(
      "Not the same number of function calls and responses",
      "mistralai/client-python/issues/234",
    ),
    "orphan-result": confirmed(
      "Unexpected role 'tool' after role '{name}'",
      "charmbracelet/crush/issues/279",
    ),
    "duplicate-result": fromSource("Duplicate tool call id {id} in tool results", VALIDATOR),
    "call-id": confirmed(
      "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
      "editor-code-assistant/eca/issues/233",
    ),
    "duplicate-call-id": fromSource("Duplicate tool call id {id} in assistant message", VALIDATOR),
    "tool-name": fromSource(
      "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.",
      VALIDATOR,
    ),
    // The client throws before it sends anything.
    "empty-assistant": confirmed(
      "Assistant message must have either content or tool_calls, but not none.",
      "OpenHands/OpenHands/issues/8685",
    ),
    "system-position": fromSource("Unexpected role 'system' after role '{name}'", VALIDATOR),
    "assistant-last": confirmed(
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
      "0xPlaygrounds/rig/pull/1130",
    ),
    "foreign-block": INFERRED["foreign-block"],
    role: INFERRED.role,
  },
  callPlaces: ["listed"],
  callId: /^[a-zA-Z0-9]{9}$/,
  systemPlaces: { several: true, after: ["system", "human"], last: false },
  blocksIn: ["human", "ai", "tool"],
  // The address can also be a text.
  media: { ...IMAGE_URL, takes: isOf("image_url") },
  makers: ["mistralai", "mistral"],
} as const satisfies Dialect;

export const mistralOpenAI = overOpenAI(mistral);

/** Who gets the dialects of this maker. */
export const mistralModels = {
  clients: { mistral_ai: "mistral" },
  hosts: [[/^(api|codestral)\.mistral\.ai$/, "mistral-openai"]],
  hostedModels: [[/\b(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)/i, "mistral-openai"]],
} as const;
