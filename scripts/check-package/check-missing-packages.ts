import { BrokenDoorError } from "./broken-door-error.js";
import type { Consumer } from "./install-consumer.js";

/** A model of each provider, with the install command that its error must name if the package is missing. */
const ADVICE = [
  ["openai:m", "npm install @langchain/openai"],
  ["qwen:m", "npm install @langchain/openai"],
  ["deepseek:m", "npm install @langchain/deepseek"],
  ["mistralai:m", "npm install @langchain/mistralai"],
  ["anthropic:m", "npm install langchain @langchain/anthropic"],
  ["google:m", "npm install langchain @langchain/google"],
  ["google-genai:m", "npm install langchain @langchain/google-genai"],
  ["groq:m", "npm install langchain @langchain/groq"],
  ["xai:m", "npm install langchain @langchain/xai"],
  ["tongyi:m", "npm config set legacy-peer-deps=true --location=project && npm install @langchain/community"],
] as const;

/** Checks that a model with a missing package names the command that installs it. */
export async function checkMissingPackages(consumer: Consumer): Promise<string> {
  await consumer.write("missing-packages.mjs", program(ADVICE.map(([model]) => model)));
  const printed = await consumer.run("missing-packages.mjs");
  for (const [index, [model, command]] of ADVICE.entries()) {
    if (printed[index]?.endsWith(`install the package: ${command}`)) continue;
    throw new BrokenDoorError(`\`${model}\` should advise \`${command}\`, it said: ${printed[index]}`);
  }
  return `${ADVICE.length} models name the command`;
}

function program(models: readonly string[]): string {
  return `
import { createModel } from "langgraph-tether";
const environment = new Proxy({}, { get: (_, name) => (name.endsWith("KEY") ? "a-key-of-nobody" : undefined) });
for (const model of ${JSON.stringify(models)}) {
  await createModel(model, { environment }).then(
    () => console.log(model, "was made"),
    (error) => console.log(error.message),
  );
}
`;
}
