import { anthropic } from "./anthropic/client.js";
import { compatible } from "./compatible/client.js";
import { dashscope } from "./dashscope/client.js";
import { deepseek } from "./deepseek/client.js";
import { gemini } from "./gemini/client.js";
import { mistral } from "./mistral/client.js";
import { openai } from "./openai/client.js";
import type { Provider } from "./provider.js";

/**
 * All rooms, from the general to the particular. Where two of them know the same name, the later one is right. Their
 * dialects are in `dialects.ts`, which must not load any client.
 */
export const PROVIDERS: readonly Provider[] = [
  openai,
  deepseek,
  dashscope,
  mistral,
  gemini,
  anthropic,
  compatible,
];
