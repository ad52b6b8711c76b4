/**
 * LangChain and LangGraph a second time in one process. A program that mixes `import` and `require` has both copies of a
 * package, and an object of one copy is not an instance of a class of the other.
 *
 * With `SECOND_CORE`, the name of an installed package, LangChain core is another version too.
 */

import { createRequire } from "node:module";

const load = createRequire(import.meta.url);
const core = process.env["SECOND_CORE"] ?? "@langchain/core";

/** Each package is loaded when it is first used. */
export const second = {
  get messages(): typeof import("@langchain/core/messages") {
    return load(`${core}/messages`);
  },
  get outputs(): typeof import("@langchain/core/outputs") {
    return load(`${core}/outputs`);
  },
  get tools(): typeof import("@langchain/core/tools") {
    return load(`${core}/tools`);
  },
  get chatModels(): typeof import("@langchain/core/language_models/chat_models") {
    return load(`${core}/language_models/chat_models`);
  },
  get langGraph(): typeof import("@langchain/langgraph") {
    return load("@langchain/langgraph");
  },
  get openAI(): typeof import("@langchain/openai") {
    return load("@langchain/openai");
  },
};
