import { anthropicProvider } from "./anthropic/client.js";
import { bedrockProvider } from "./bedrock/client.js";
import { compatibleProvider } from "./compatible/client.js";
import { dashscopeProvider } from "./dashscope/client.js";
import { deepseekProvider } from "./deepseek/client.js";
import { geminiProvider } from "./gemini/client.js";
import { mistralProvider } from "./mistral/client.js";
import { openaiProvider } from "./openai/client.js";
import type { Provider } from "./provider.js";

/**
 * All rooms, from the general to the particular. If two of them know the same name, the later one is right. Their
 * dialects are in `dialects.ts`, which must not load any client.
 */
export const PROVIDERS: readonly Provider[] = [
  openaiProvider,
  deepseekProvider,
  dashscopeProvider,
  mistralProvider,
  geminiProvider,
  anthropicProvider,
  bedrockProvider,
  compatibleProvider,
];
