import { carryHostFields } from "../host-fields/client.js";
import { byLangChain, type Provider } from "../provider.js";

/** Gateways, servers of open models, and providers without a room of their own. */
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
    calls: ["tool_call"],
    limit: ["error_limit"],
    // GLM.
    withheld: ["sensitive"],
    interrupted: ["network_error"],
  },
  // Ollama.
  finishFields: ["done_reason"],
  overflow: [
    // vLLM: "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096
    // tokens and your request has 2104 input tokens (2000 > 4096 - 2104)."
    "maximum context length is <limit> tokens and your request has <input> input tokens \\(<output> >",
    // vLLM: "You passed 7681 input tokens and requested 512 output tokens. However, the model's context length is only
    // 8192 tokens, resulting in a maximum input length of 7680 tokens."
    "passed <input> input tokens and requested <output> output tokens.*?context length is only <limit> tokens",
    "maximum context length is <limit> tokens",
    // xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
    "maximum prompt length is <limit> but the request contains <input> tokens",
    // Groq, `context_length_exceeded`: "Please reduce the length of the messages or completion."
    "reduce the length of the (?:input )?(?:messages|prompt)",
    // llama.cpp, `exceed_context_size_error`: "request (23908 tokens) exceeds the available context size (16384 tokens)"
    "request \\(<input> tokens\\) exceeds the available context size \\(<limit> tokens\\)",
    "exceeds the available context size",
    // LM Studio: "The number of tokens to keep from the initial prompt is greater than the context length"
    "greater than the context length",
    // Ollama: "prompt too long; exceeded max context length by 4096 tokens"
    "prompt too long; exceeded (?:max )?context length",
    // Kimi: "Your request exceeded model token limit: 262144 (requested: 300000)"
    "exceeded model token limit: <limit> \\(requested: <total>\\)",
    // MiniMax: "invalid params, context window exceeds limit"
    "context window exceeds limit",
  ],
  mendClient: carryHostFields,
  // Groq, xAI.
  secrets: ["(?:gsk|xai)-[\\w*-]{6,}", "gsk_\\w{6,}"],
};
