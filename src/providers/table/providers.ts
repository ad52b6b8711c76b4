/** The list of all makers. */

import type { Provider } from "../contract/provider.js";
import { anthropicProvider } from "../makers/anthropic/client.js";
import { bedrockProvider } from "../makers/bedrock/client.js";
import { compatibleProvider } from "../makers/compatible/client.js";
import { dashscopeProvider } from "../makers/dashscope/client.js";
import { deepseekProvider } from "../makers/deepseek/client.js";
import { geminiProvider } from "../makers/gemini/client.js";
import { mistralProvider } from "../makers/mistral/client.js";
import { openaiProvider } from "../makers/openai/client.js";

/**
 * All makers, from the general to the particular. If two of them know the same name or host, the later one is right. Their
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
