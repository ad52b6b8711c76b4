import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { InvalidModelError } from "../errors.js";
import { OfflineChatModel } from "./offline/offline-chat-model.js";

/** Contract: makes the provider's model by its name; rejects if the provider's package is not installed. */
type Create = (model: string) => Promise<BaseChatModel>;

/** Provider packages are optional peers, loaded when a model of theirs is made. */
const PROVIDERS: Readonly<Record<string, { readonly package?: string; readonly create: Create }>> = {
  offline: { create: async () => new OfflineChatModel() },
  openai: {
    package: "@langchain/openai",
    create: async (model) => {
      const { ChatOpenAI } = await import("@langchain/openai");
      return new ChatOpenAI({ model });
    },
  },
};

interface ModelName {
  readonly provider: string;
  readonly model: string;
}

/** @throws InvalidModelError if the name is not `provider:model` with a known provider. */
export function parseModelName(name: string): ModelName {
  const [provider = "", ...rest] = name.split(":");
  const model = rest.join(":");
  const isKnown = Object.hasOwn(PROVIDERS, provider);
  if (isKnown && rest.length > 0 && (model !== "" || provider === "offline")) return { provider, model };
  throw new InvalidModelError(
    name,
    `Expected a model as \`provider:model\` with one of the providers ${Object.keys(PROVIDERS).join(", ")}, got \`${name}\`.`,
  );
}

/**
 * Makes a model by name: `openai:gpt-4o-mini`, or `offline:` for the embedded one that needs nothing. Keys and
 * base URLs come from the environment by their usual names.
 *
 * @throws InvalidModelError for a malformed name, an unknown provider, a missing package or a missing key.
 */
export async function createModel(name: string): Promise<BaseChatModel> {
  const { provider, model } = parseModelName(name);
  const entry = PROVIDERS[provider];
  try {
    if (entry !== undefined) return await entry.create(model);
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    const advice = isMissing
      ? `install the package: npm install ${entry?.package}`
      : error instanceof Error
        ? error.message
        : String(error);
    throw new InvalidModelError(name, `The model \`${name}\` could not be made: ${advice}`, { cause: error });
  }
  throw new InvalidModelError(name, `There is no provider \`${provider}\`.`);
}
