/** Bedrock's clients. */

import { textIn } from "../../../shared/values.js";
import { byLangChain, type Provider } from "../../contract/provider.js";

/** `ChatBedrockConverse`. It finds its credentials and region itself. */
export const bedrockProvider: Provider = {
  models: { bedrock: byLangChain("bedrock", { package: "@langchain/aws", dialect: "bedrock" }) },
  finishReasons: {
    calls: ["malformed_tool_use"],
    withheld: ["content_filtered", "guardrail_intervened"],
    interrupted: ["malformed_model_output"],
  },
  finishFields: ["stopReason"],
  // In a stream.
  finishIn: ({ messageStop }) => textIn(messageStop, "stopReason"),
  overflow: ["input is too long for requested model"],
};
