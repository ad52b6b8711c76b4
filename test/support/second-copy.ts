/**
 * LangChain and LangGraph a second time in one process. A program that mixes `import` and `require` has both copies of a
 * package, and an object of one copy is not an instance of a class of the other.
 *
 * With `SECOND_CORE`, the name of an installed package, LangChain core is another version too.
 */

import { createRequire } from "node:module";

const load = createRequire(import.meta.url);
const core = process.env["SECOND_CORE"] ?? "@langchain/core";

export const secondMessages: typeof import("@langchain/core/messages") = load(`${core}/messages`);
export const secondOutputs: typeof import("@langchain/core/outputs") = load(`${core}/outputs`);
export const secondTools: typeof import("@langchain/core/tools") = load(`${core}/tools`);
export const secondChatModels: typeof import("@langchain/core/language_models/chat_models") = load(
  `${core}/language_models/chat_models`,
);
export const secondLangGraph: typeof import("@langchain/langgraph") = load("@langchain/langgraph");
export const secondOpenAI: typeof import("@langchain/openai") = load("@langchain/openai");
