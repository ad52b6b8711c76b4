/** DeepSeek's clients. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { importOptional } from "../../../shared/import-optional.js";
import type { ModelFields, Provider } from "../../contract/provider.js";

/** Its models write bars and spaces in several ways. */
const BAR = "[|｜‖]";
const GAP = "[\\s_▁]";

export const deepseekProvider: Provider = {
  forcedCall: {
    deepseek: (client) => (/reasoner/.test(String(Reflect.get(client, "model"))) ? "nothing" : "any"),
  },
  models: {
    deepseek: {
      install: "npm install @langchain/deepseek",
      keys: ["DEEPSEEK_API_KEY"],
      baseURL: "DEEPSEEK_BASE_URL",
      dialect: "deepseek",
      carriesHostFields: true,
      create: createDeepSeekModel,
    },
  },
  clientFields: { deepseek: {} },
  modelNames: [/^deepseek/i, "deepseek"],
  finishReasons: { interrupted: ["insufficient_system_resource"] },
  callMarkup: [
    // `<｜tool▁calls▁begin｜>`
    new RegExp(`<${BAR}tool${GAP}calls?${GAP}begin${BAR}>`, "gu"),
    // Since V3.2: `<｜DSML｜tool_calls>`, `<｜DSML｜function_calls>`, `<｜DSML｜invoke name="…">`
    new RegExp(`<\\s?${BAR}{1,2}\\s?DSML\\s?${BAR}{1,2}\\s?(?:tool|function|invoke)`, "gu"),
  ],
  refusedMedia: [
    // "Failed to deserialize the JSON body into the target type: messages[466]: unknown variant `image_url`, expected
    // `text`" (esengine/DeepSeek-Reasonix#7859)
    "unknown variant `?(?:image_url|input_audio|file|image)`?, expected",
  ],
};

export async function createDeepSeekModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatDeepSeek } = await importOptional<typeof import("@langchain/deepseek")>("@langchain/deepseek");
  return new ChatDeepSeek({ ...fields, ...(baseURL !== undefined && { configuration: { baseURL } }) });
}
