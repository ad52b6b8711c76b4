/** Every difference between what a client sends alone and what it sends with the library, with its reason. */

import type { Way } from "./measure.js";

/**
 * - `rule`: the provider refuses what the client sends alone. The source says so.
 * - `client`: the client garbles or loses what the thread has, so the library puts it right.
 * - `setting`: the library does more by default, and a setting turns it off.
 * - `thread`: the library keeps every thread in this form, for all providers. The source says what can go wrong without it.
 */
export type ExceptionKind = "rule" | "client" | "setting" | "thread";

export interface Exception {
  readonly kind: ExceptionKind;
  /** The names of the clients. Undefined: all. */
  readonly clients?: readonly string[];
  /** The titles of the histories. Undefined: all. */
  readonly histories?: readonly string[];
  /** The places in the request that differ. Undefined: all. */
  readonly path?: RegExp;
  readonly ways?: readonly Way[];
  /** What is sent, in a sentence for the documents. */
  readonly what: string;
  readonly why: string;
  /** Where the rule was reported, below `https://github.com/`. */
  readonly source?: string;
}

const DEEPSEEK = ["ChatDeepSeek", "ChatOpenAI at DeepSeek's host"];
const KIMI = ["ChatOpenAI at Kimi's host", "ChatOpenAI at OpenRouter"];
const GOOGLE = ["ChatGoogle", "ChatGoogle (Vertex AI)"];
const GEMINI_HOST = "ChatOpenAI at Gemini's host";
const CLAUDE_HOST = "ChatOpenAI at OpenRouter (Claude)";
/** Hosts with OpenAI's protocol that have no rules of their own here. */
const HOSTS = [
  "ChatXAI",
  "ChatOpenRouter",
  "ChatOpenAI at GLM's host",
  "ChatOpenAI at MiniMax's host",
  "ChatOpenAI at vLLM",
  ...KIMI,
];
const OVER_OPENAI = [GEMINI_HOST, CLAUDE_HOST];
/** What the documents call hosts with OpenAI's protocol. */
export const HOSTS_WITH_OPENAI_PROTOCOL: readonly string[] = [...HOSTS, ...OVER_OPENAI];
/** Hosts that get back what they put into a message, also where the client leaves it out. */
export const HOSTS_WITH_OWN_FIELDS: readonly string[] = [
  ...HOSTS_WITH_OPENAI_PROTOCOL,
  ...["ChatGroq", "ChatOpenAI at Qwen's host"],
  ...DEEPSEEK,
];

const PICTURES = ["a user's picture", "a user's picture by address"];
const RESULT_PICTURES = ["a picture in a result", "a picture in a result, as `image_url`"];

const HOST_FIELDS = [
  "reasoning in `reasoning_content`",
  "reasoning in `reasoning`",
  "reasoning in `reasoning_details`",
  "a signature in `extra_content` of a call",
];
const EMPTY_RESPONSES = ["an empty response", "a refusal"];

export const EXCEPTIONS: readonly Exception[] = [
  // Rules of providers.
  {
    kind: "rule",
    clients: DEEPSEEK,
    path: /\.reasoning_content$/,
    what: "Each response has `reasoning_content`, possibly empty.",
    why: "DeepSeek's thinking mode demands it.",
    source: "qwersyk/Newelle/issues/404",
  },
  {
    kind: "rule",
    clients: KIMI,
    path: /\.reasoning_content$/,
    what: "Each response has `reasoning_content`, possibly empty.",
    why: "Kimi demands it of responses with calls while it thinks.",
    source: "continuedev/continue/issues/11600",
  },
  {
    kind: "rule",
    clients: [...KIMI, "ChatOpenRouter"],
    histories: ["one call id in two turns"],
    what: "A repeated call id is replaced, together with its result.",
    why: "Kimi refuses a repeated id.",
    source: "openclaw/openclaw/issues/84730",
  },
  {
    kind: "rule",
    clients: DEEPSEEK,
    histories: ["one call id in two turns"],
    what: "A repeated call id is replaced, together with its result.",
    why: "DeepSeek refuses a repeated id.",
    source: "craft-ai-agents/craft-agents-oss/issues/630",
  },
  {
    kind: "rule",
    clients: ["ChatMistralAI"],
    histories: ["a system message at the end"],
    path: /roles$/,
    what: "A system message at the end goes to the front.",
    why: "The last message must be the user's or a result.",
    source: "0xPlaygrounds/rig/pull/1130",
  },
  {
    kind: "rule",
    clients: ["ChatGoogleGenerativeAI", ...GOOGLE, GEMINI_HOST],
    histories: ["results in another order"],
    what: "Results are in the order of their calls.",
    why: "Up to Gemini 2.5, results belong to calls by position.",
    source: "microsoft/vscode/issues/299295",
  },
  {
    kind: "rule",
    clients: ["ChatGoogleGenerativeAI", ...GOOGLE, GEMINI_HOST],
    histories: ["a greeting of the assistant first"],
    what: "A short user message precedes a response that comes first.",
    why: "The first message must be the user's.",
    source: "continuedev/continue/issues/11164",
  },
  {
    kind: "rule",
    clients: [GEMINI_HOST],
    path: /tool_calls\[\]\.extra_content$/,
    what: "The first call of a response without a signature gets Google's documented value.",
    why: "Gemini 3 refuses a turn of calls without a signature.",
    source: "vercel/ai/issues/15550",
  },
  {
    kind: "rule",
    clients: HOSTS_WITH_OPENAI_PROTOCOL,
    histories: RESULT_PICTURES,
    path: /roles$/,
    what: "Pictures and files of results follow in a user message that names the tool and the call.",
    why: "Results in OpenAI's protocol hold only text.",
    source: "openai/openai-agents-python/issues/341",
  },
  {
    kind: "rule",
    clients: ["ChatOpenAI at OpenRouter", "ChatOpenRouter"],
    histories: EMPTY_RESPONSES,
    path: /roles$/,
    what: "A response without text and calls is left out.",
    why: "Kimi refuses it.",
    source: "AstrBotDevs/AstrBot/issues/7200",
  },
  {
    kind: "rule",
    clients: [CLAUDE_HOST],
    histories: EMPTY_RESPONSES,
    path: /roles$/,
    what: "A response without text and calls is left out.",
    why: "Anthropic refuses it.",
    source: "anthropics/claude-code/issues/6774",
  },
  {
    kind: "rule",
    clients: ["ChatOpenAI", "AzureChatOpenAI"],
    histories: ["a text with citations", "cache marks"],
    path: /\.(annotations|cache_control)$/,
    what: "Text blocks lose fields that OpenAI does not know.",
    why: "OpenAI refuses unknown fields.",
    source: "songquanpeng/one-api/issues/1319",
  },
  {
    kind: "rule",
    clients: ["ChatBedrockConverse", CLAUDE_HOST],
    histories: ["a name of a tool with a dot"],
    path: /name$/,
    what: "In tool names, other characters than letters, digits and hyphens become underscores.",
    why: "Bedrock and Anthropic refuse them.",
    source: "raphaelmansuy/edgequake-llm/issues/66",
  },
  {
    kind: "rule",
    clients: [CLAUDE_HOST],
    histories: ["an empty message of the user"],
    path: /content$/,
    what: "An empty user message says that it is empty.",
    why: "Anthropic refuses messages without text.",
    source: "anthropics/claude-code/issues/59812",
  },
  {
    kind: "rule",
    clients: [
      ...[
        "ChatOpenAI",
        "ChatOpenAI (Responses)",
        "AzureChatOpenAI",
        "ChatGroq",
        "ChatCerebras",
        "ChatOllama",
      ],
      ...[...DEEPSEEK, "ChatOpenAI at Qwen's host", ...HOSTS_WITH_OPENAI_PROTOCOL],
    ],
    histories: ["an empty list beside a call"],
    path: /(content|roles)$/,
    what: "Content that is an empty list becomes an empty text.",
    why: "OpenAI refuses the list, and some clients lose the call beside it.",
    source: "langchain-ai/langchainjs/pull/11419",
  },
  {
    kind: "rule",
    clients: HOSTS_WITH_OPENAI_PROTOCOL,
    histories: ["a user's picture by address, as a text"],
    path: /image_url$/,
    what: "A picture's address is sent as an object.",
    why: "OpenAI's protocol takes no string there.",
    source: "microsoft/promptflow/issues/3946",
  },
  {
    kind: "rule",
    clients: ["ChatOpenAI at Qwen's host"],
    histories: ["a user's picture, as `image_url`", "a user's picture, in LangChain's older form"],
    path: /content\[\]$/,
    what: "A picture with a side of at most ten pixels is described in words.",
    why: "Qwen refuses it.",
    source: "QwenLM/qwen-code/issues/2505",
  },
  // What a client garbles or loses.
  {
    kind: "client",
    clients: ["ChatGoogleGenerativeAI", ...GOOGLE],
    histories: RESULT_PICTURES,
    path: /roles$/,
    what: "Pictures and files of results follow in a user message that names the tool and the call.",
    why: "The clients write them as JSON, or leave out those in LangChain's standard form.",
  },
  {
    kind: "client",
    clients: ["ChatOpenAI (Responses)"],
    histories: RESULT_PICTURES,
    path: /output$/,
    what: "The pictures and files of results are sent as `input_image` and `input_file`.",
    why: "The client writes them as JSON, with all their bytes.",
  },
  {
    kind: "client",
    clients: ["ChatAnthropic", "ChatOpenAI (Responses)", ...GOOGLE, ...HOSTS_WITH_OPENAI_PROTOCOL],
    histories: ["a resource link in a result", "a resource with a text in a result"],
    path: /(content(\[\])?|result\[\]|output)$/,
    what: "A resource or a link to one becomes a text with its name, address and content.",
    why: "The client leaves it out, or sends an unknown block.",
  },
  {
    kind: "client",
    clients: ["ChatAnthropic"],
    histories: ["a reference to a tool in a result"],
    path: /content$/,
    what: "A reference to a tool becomes a text with its name.",
    why: "The client leaves it out.",
  },
  {
    kind: "client",
    clients: HOSTS_WITH_OPENAI_PROTOCOL,
    histories: ["a user's PDF"],
    path: /content\[\]\.(mimeType|data|metadata|file)$/,
    what: "A file in LangChain's standard form is sent as OpenAI's `file`.",
    why: "The client sends an unknown block.",
  },
  {
    kind: "client",
    clients: GOOGLE,
    histories: ["a system prompt beside stored ones", "system messages in mid-thread"],
    path: /systemInstruction\.parts$/,
    what: "System messages are joined, with blank lines between them.",
    why: "Gemini has one place for them.",
  },
  {
    kind: "client",
    clients: HOSTS_WITH_OPENAI_PROTOCOL,
    histories: PICTURES,
    path: /content\[\]$/,
    what: "A picture in LangChain's standard form is sent as `image_url`.",
    why: "The client sends an unknown block.",
  },
  {
    kind: "client",
    clients: ["ChatOpenAI (Responses)"],
    histories: [...PICTURES, "a user's PDF"],
    path: /content$/,
    what: "Pictures and files in LangChain's standard form are sent as `input_image` and `input_file`.",
    why: "The client leaves them out.",
  },
  {
    kind: "client",
    clients: GOOGLE,
    histories: [...PICTURES, "a user's PDF"],
    path: /parts\[\]$/,
    what: "Pictures and files in LangChain's standard form are sent as `inlineData` and `fileData`.",
    why: "The client sends an unknown part.",
  },
  {
    kind: "client",
    clients: ["ChatAnthropic"],
    histories: ["a user's picture, in LangChain's older form", "a user's PDF, in LangChain's older form"],
    path: /content$/,
    what: "Pictures and files in LangChain's older form are sent once, with their type.",
    why: "The client sends them twice, once without the type.",
  },
  {
    kind: "client",
    clients: GOOGLE,
    histories: ["a signed call"],
    path: /parts\[\]$/,
    what: "A text's signature is sent.",
    why: "The client stores it and leaves it out.",
  },
  {
    kind: "client",
    clients: GOOGLE,
    histories: ["a picture that the model has made"],
    path: /parts\[\]$/,
    what: "A picture that the model made is sent as `inlineData`, with its signature.",
    why: "The client sends an unknown field.",
    source: "langchain-ai/langchain-google/issues/1431",
  },
  {
    kind: "client",
    clients: ["ChatAnthropic", "ChatOpenAI (Responses)", ...HOSTS_WITH_OPENAI_PROTOCOL],
    histories: ["a user's file of plain text"],
    path: /content(\[\])?$/,
    what: "A file of plain text is sent as a text.",
    why: "The client leaves it out, or sends an unknown block.",
  },
  {
    kind: "client",
    clients: GOOGLE,
    histories: ["a thought"],
    path: /parts$/,
    what: "Thoughts are left out.",
    why: "The client sends an unknown part, and Google does not need them.",
  },
  {
    kind: "client",
    clients: HOSTS_WITH_OWN_FIELDS,
    histories: HOST_FIELDS,
    path: /\.(reasoning|reasoning_content|reasoning_details|extra_content)$/,
    what: "Reasoning and signatures go back in the [fields](#fields-of-hosts) that the host used.",
    why: "The client leaves them out. Models that think between calls need them, and some refuse requests without them.",
    source: "openai/codex/pull/2461",
  },
  {
    kind: "client",
    clients: ["ChatBedrockConverse"],
    histories: ["a picture in a result"],
    path: /toolResult\.content\[\]$/,
    what: "A picture in a result is sent as a picture.",
    why: "The client sends LangChain's standard form as JSON.",
  },
  // Settings.
  {
    kind: "setting",
    clients: ["ChatAnthropic"],
    histories: ["the prompt cache of the graph"],
    path: /^(tools\[\]|system|cache_control)$/,
    ways: ["createAgentGraph"],
    what: "Tools, system prompt and last message get marks for the prompt cache.",
    why: 'Anthropic caches nothing without marks. `promptCache: "off"` sets none.',
  },
  // The form of every thread.
  {
    kind: "thread",
    histories: ["results in another order"],
    path: /\b(messages|input|chat_history|tool_results)\[\]\./,
    what: "Results are in the order of their calls.",
    why: "Many models' templates have no call ids, so they match results by position.",
    source: "modelscope/ms-swift/pull/10174",
  },
];

/** The first row that covers a difference. */
export function exceptionOf(
  client: string,
  history: string,
  { path, ways }: { readonly path: string; readonly ways: readonly Way[] },
): Exception | undefined {
  return EXCEPTIONS.find(
    (exception) =>
      (exception.clients?.includes(client) ?? true) &&
      (exception.histories?.includes(history) ?? true) &&
      (exception.path?.test(path) ?? true) &&
      ways.every((way) => exception.ways?.includes(way) ?? true),
  );
}
