import { byLangChain, type Provider } from "../../contract/provider.js";

/** `ChatBedrockConverse`. It finds its credentials and region itself. */
export const bedrockProvider: Provider = {
  models: { bedrock: byLangChain("bedrock", { package: "@langchain/aws", dialect: "bedrock" }) },
  finishReasons: {
    calls: ["malformed_tool_use"],
    withheld: ["content_filtered", "guardrail_intervened"],
    interrupted: ["malformed_model_output"],
  },
  // In a stream, within `messageStop`.
  finishFields: ["stopReason"],
  overflow: ["input is too long for requested model"],
};
