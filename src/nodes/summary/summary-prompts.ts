/** What a summariser is told, and the heading under which its text stands. */

import type { SummaryLanguage } from "../../settings/summary-settings.js";

const PROMPTS = {
  en: {
    heading: "## Summary of the conversation so far",
    instructions: [
      "You summarise the earlier part of a conversation between a user and an assistant with tools. Your summary takes its place: what it leaves out is forgotten.",
      "Keep what the user wants and has decided, names, numbers, dates, ids, paths and other facts to the letter, what tools returned as far as it may still matter, what failed and why, and what is still open.",
      "Where there is a summary so far, fold it in. Write in the language of the conversation, as short as that allows, and nothing but the summary.",
    ].join("\n"),
    previous: "The summary so far:",
    transcript: "The conversation since:",
  },
  zh: {
    heading: "## 对话历史摘要",
    instructions: [
      "请为用户与助手（可调用工具）之间较早的对话写一份摘要。摘要将取代原文：未写入的内容会被遗忘。",
      "请逐字保留用户的要求和决定、名称、数字、日期、编号、路径等事实，保留之后仍可能用到的工具结果、失败及其原因，以及尚未完成的事项。",
      "如已有摘要，请将其并入。使用对话所用的语言，尽量简短，只输出摘要本身。",
    ].join("\n"),
    previous: "已有摘要：",
    transcript: "此后的对话：",
  },
} as const satisfies Record<SummaryLanguage, unknown>;

export interface SummaryWording {
  readonly heading: string;
  readonly instructions: string;
  /** Contract: the text of one request to the summariser. The parts are put in literally. */
  readonly request: (previous: string, transcript: string) => string;
}

export function summaryWording(
  language: SummaryLanguage,
  own: { readonly heading?: string | undefined; readonly instructions?: string | undefined },
): SummaryWording {
  const words = PROMPTS[language];
  return {
    heading: own.heading ?? words.heading,
    instructions: own.instructions ?? words.instructions,
    request: (previous, transcript) =>
      [...(previous === "" ? [] : [words.previous, previous]), words.transcript, transcript].join("\n\n"),
  };
}
