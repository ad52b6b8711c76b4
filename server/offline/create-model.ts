/** The served graph's models. Its offline model understands questions in words. */

import {
  type CreateModel,
  createModel,
  readingEnvironment,
} from "../../src/providers/models/create-model.js";
import { OfflineChatModel } from "../../src/providers/offline/offline-chat-model.js";
import { QUESTIONS } from "./questions.js";

export const createServedModel: CreateModel = readingEnvironment(async (name) =>
  name.startsWith("offline:") ? new OfflineChatModel({ language: QUESTIONS }) : createModel(name),
);
