/** Clients and hosts with OpenAI's protocol whose makers have no folder of their own. */

import { RENAMED_REASONING } from "../../contract/host-fields.js";
import { byLangChain, type Provider } from "../../contract/provider.js";

/** Gateways, servers of open models, and providers without a folder of their own. */
export const compatibleProvider: Provider = {
  models: {
    groq: byLangChain("groq", {
      package: "@langchain/groq",
      keys: ["GROQ_API_KEY"],
      dialect: "openai-compatible",
    }),
    xai: byLangChain("xai", {
      package: "@langchain/xai",
      keys: ["XAI_API_KEY"],
      dialect: "xai",
    }),
    // The client finds its host itself.
    ollama: byLangChain("ollama", { package: "@langchain/ollama" }),
  },
  modelNames: [/^grok/i, "xai"],
  finishReasons: {
    // Cohere. Servers of open models name the token that ends a text.
    done: ["complete", "eos", "eos_token"],
    calls: ["tool_call"],
    limit: ["error_limit"],
    // GLM.
    withheld: ["sensitive"],
    interrupted: ["network_error"],
  },
  // Ollama.
  finishFields: ["done_reason"],
  // Kimi.
  callMarkup: [/<[|｜]tool_calls_section_begin[|｜]>/gu],
  refusedMedia: [
    // OpenRouter, MiMo and Copilot, with status 404: "No endpoints found that support image input" (nexu-io/nexu#731)
    "No endpoints found that support (?:image|audio|video|file) input",
    // Ollama: "this model does not support image input" (ollama/ollama#17301); Copilot: "image media type not supported"
    // (microsoft/vscode#264246)
    "not support (?:image|vision|audio|video|file)s?|image media type not supported",
    // vLLM (vllm-project/vllm#23402)
    "is not a multimodal model",
    // llama.cpp: "Unsupported content part type: \"image_url\"" (ggml-org/llama.cpp#12947)
    "Unsupported content part type",
    // Volcengine: "The request failed because the image format is not supported by the API." (dify-official-plugins#905);
    // MiMo: "invalid image format, only bmp/gif/png/jpeg/webp are supported" (XiaomiMiMo/MiMo-Code#362)
    "image format is not supported|invalid image format",
    // Kimi: "unsupported image url" (OpenHands/software-agent-sdk#3155); xAI: "Downloaded response does not contain a valid JPG
    // or PNG image." (cline/cline#4883)
    "unsupported image url|does not contain a valid JPG or PNG image",
    // GLM, code 1210: "图片输入格式/解析错误" (gan/glm4v-assistant#3)
    "图片输入格式",
    // Bedrock: "Value at 'messages.1.member.content.2.member.image.format' failed to satisfy constraint"
    // (NousResearch/hermes-agent#55429), "The provided image does not match the specified image format." (boto/boto3#4415)
    "(?:image|document|video)\\.(?:format|source|name)' failed to satisfy",
    "provided image does not match",
  ],
  tooMany: {
    pictures: [
      // vLLM: "At most 5 image(s) may be provided in one request." (vllm-project/vllm#17092)
      "At most <most> (?:image|video|audio)",
      // Copilot: "Too many images in request: 11 images provided, but the model supports a maximum of 10 images."
      // (microsoft/vscode#306919)
      "too many images[^.]{0,80}?maximum of <most>",
    ],
  },
  otherRefusals: [
    // Filters that have only a number: MiniMax's of its input and output, and GLM's, whose text is
    // "[1301][系统检测到输入或生成内容可能包含不安全或敏感内容]" (zai-org/feedback#516)
    "^(?:1026|1027|1301)$",
  ],
  overflow: [
    // vLLM: "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096
    // tokens and your request has 2104 input tokens (2000 > 4096 - 2104)."
    "maximum context length is <limit> tokens and your request has <input> input tokens \\(<output> >",
    // vLLM: "You passed 7681 input tokens and requested 512 output tokens. However, the model's context length is only
    // 8192 tokens, resulting in a maximum input length of 7680 tokens."
    "passed <input> input tokens and requested <output> output tokens.{0,40}?context length is only <limit> tokens",
    "maximum context length is <limit> tokens",
    // The words of xAI, Groq, llama.cpp, LM Studio, Kimi and MiniMax stand in badlogic/pi-mono,
    // packages/ai/src/utils/overflow.ts.
    // xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
    "maximum prompt length is <limit> but the request contains <input> tokens",
    // Groq, `context_length_exceeded`: "Please reduce the length of the messages or completion."
    "reduce the length of the (?:input )?(?:messages|prompt)",
    // llama.cpp, `exceed_context_size_error`: "request (23908 tokens) exceeds the available context size (16384 tokens)"
    "request \\(<input> tokens\\) exceeds the available context size \\(<limit> tokens\\)",
    "exceeds the available context size",
    // LM Studio: "The number of tokens to keep from the initial prompt is greater than the context length"
    "greater than the context length",
    // oMLX: "400 Prompt too long: 41911 tokens exceeds max context window of 32768 tokens" (ValueCell-ai/ClawX#658)
    "prompt too long(?:: <input> tokens exceeds max context window of <limit> tokens)?",
    // Kimi: "Your request exceeded model token limit: 262144 (requested: 300000)"
    "exceeded model token limit: <limit> \\(requested: <total>\\)",
    // MiniMax: "invalid params, context window exceeds limit"
    "context window exceeds limit",
    // Cohere: "too many tokens: size limit exceeded by 19296 tokens. Try using shorter or fewer inputs. The limit for this
    // model is 132000 tokens." (pydantic/pydantic-ai#4221)
    "too many tokens:(?: [^.]{0,80}\\.[^.]{0,80}\\. The limit for this model is <limit> tokens)?",
  ],
  hostFields: [
    // "property 'reasoning_content' is unsupported" (janhq/jan/issues/8136); `reasoning` is wanted back after calls
    // (vercel/ai/issues/7860).
    { host: /(^|\.)groq\.com$/, accepts: [RENAMED_REASONING] },
  ],
  // `ChatOpenRouter` stores its host's field under the other name.
  clientFields: { openrouter: { reasoningName: RENAMED_REASONING, sendsParameters: true } },
  thinking: { dialects: ["openai-compatible", "kimi", "glm", "minimax"], models: /\bkimi/i },
  // Groq, xAI.
  secrets: ["(?:gsk|xai)-[\\w*-]{6,}", "gsk_\\w{6,}"],
};
