/** The differences between a client alone and with the library that have a reason. Any other one is a fault. */

import { isDeepStrictEqual } from "node:util";
import { EXCEPTIONS, type Exception, type ExceptionKind } from "../../test/wire/unchanged/exceptions.js";
import type { Found } from "./found.js";
import { FINAL_TEXT } from "./protocols.js";
import { isFields, listOf } from "./values.js";

export interface Explained {
  readonly kind: ExceptionKind;
  /** Undefined: all clients. */
  readonly clients?: RegExp;
  /** What is compared, and the place in it, as the report writes it. */
  readonly at: RegExp;
  /** What the values must be. Undefined: any. */
  readonly when?: (found: Found) => boolean;
  readonly what: string;
  readonly why: string;
  readonly source?: string;
}

/** The reason of a row of the table of exceptions, which says the same of a history. */
function like(what: string): Pick<Exception, "kind" | "what" | "why" | "source"> {
  const row = EXCEPTIONS.find((exception) => exception.what === what);
  if (row === undefined) throw new Error(`Expected an exception that says "${what}".`);
  const { kind, why, source } = row;
  return { kind, what, why, ...(source !== undefined && { source }) };
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

const isNew = ({ alone }: Found) => alone === undefined;

/** The words of a refusal, which people have read: no list of the library decides what is explained here. */
function says(pattern: RegExp): (found: Found) => boolean {
  return ({ words = "" }) => pattern.test(words);
}

/** Whether the library only leaves out items of the client's list. */
const isPart = ({ alone, ours }: Found) =>
  Array.isArray(ours) &&
  Array.isArray(alone) &&
  ours.every((item) => alone.some((other) => isDeepStrictEqual(item, other)));

export const EXPLAINED: readonly Explained[] = [
  {
    kind: "client",
    at: /^body .*messages\[\]\.name$/,
    when: ({ way, alone, ours }) => way === "createAgentGraph" && alone === "model" && ours === undefined,
    what: "A response has no name.",
    why: "LangChain's agent names each of its responses after its node.",
  },
  {
    kind: "client",
    at: /^body .*tools$/,
    when: ({ way, alone, ours }) =>
      way === "createAgentGraph" && listOf(alone).length === 0 && ours === undefined,
    what: "Without tools, no list of tools is sent.",
    why: "LangChain's agent sends an empty one to some clients.",
  },
  {
    kind: "client",
    at: /^(?:error|requests) /,
    when: ({ words, aloneError, oursError }) =>
      words === undefined && aloneError !== undefined && oursError === undefined,
    what: "The turn goes on where the client alone throws.",
    why: "The client cannot read this response, or cannot send what it stored.",
  },
  {
    ...like("Each response has `reasoning_content`, possibly empty."),
    clients: /DeepSeek|kimi|moonshot/i,
    at: /^body .*\.reasoning_content$/,
    when: isNew,
  },
  {
    ...like("Reasoning and signatures go back in the [fields](#fields-of-hosts) that the host used."),
    at: /^body .*\.(?:reasoning|reasoning_content|reasoning_details|extra_content)$/,
    when: isNew,
  },
  {
    kind: "client",
    at: /^messages .*\.additional_kwargs(?:\.(?:reasoning|reasoning_content|reasoning_details|extra_content))?$/,
    when: isNew,
    what: "Reasoning and signatures are stored in the fields that the host used.",
    why: "The client leaves them out, and the host wants them back.",
  },
  {
    ...like("A text's signature is sent."),
    clients: /^ChatGoogle\b(?!Gen)/,
    at: /^body .*parts\[\]$/,
    when: ({ alone, ours }) =>
      isFields(alone) &&
      isFields(ours) &&
      isDeepStrictEqual({ ...ours, thoughtSignature: undefined }, { ...alone, thoughtSignature: undefined }),
  },
  {
    ...like("A picture that the model made is sent as `inlineData`, with its signature."),
    clients: /^ChatGoogle\b(?!Gen)/,
    at: /^body .*parts\[\]$/,
    when: ({ ours }) => isFields(ours) && ours["inlineData"] !== undefined,
  },
  {
    kind: "client",
    clients: /^ChatGoogleGenerativeAI$/,
    at: /^body .*contents\[\]\.parts$/,
    when: isPart,
    what: "Thoughts are left out.",
    why: "The client sends them as texts of the model.",
  },
  {
    kind: "client",
    clients: /^ChatMistralAI$/,
    at: /^(?:requests .*in pieces|messages .*usage\.\w+_token_details)$/,
    what: "The response is asked for in one piece if nobody reads it.",
    why: "The client asks for a stream whenever a run can be aborted.",
  },
  {
    kind: "thread",
    at: /^error error$/,
    when: ({ oursError = "" }) => /was withheld/.test(oursError),
    what: "A response that its provider's filter took is an error.",
    why: "The client stores an empty message, as if the model had said nothing.",
  },
  {
    ...like("A reference to a tool becomes a text with its name."),
    clients: /^ChatAnthropic$/,
    at: /^body .*\.content$/,
    when: ({ alone, ours }) => isEmptyList(alone) && JSON.stringify(ours).includes("[tool_reference"),
  },
  {
    ...like("Content that is an empty list becomes an empty text."),
    at: /^body .*\.content$/,
    when: ({ alone, ours }) => isEmptyList(alone) && ours === "",
  },
  {
    kind: "client",
    clients: /^ChatOpenAI$|^AzureChatOpenAI$|^ChatOpenAI at /,
    at: /^(?:messages|body).*messages\[\]\.content$/,
    when: ({ alone, ours }) => alone === "" && typeof ours === "string" && ours !== "" && ours !== FINAL_TEXT,
    what: "The words of a refusal are in the response's text.",
    why: "The client leaves them beside it, where no reader sees them.",
  },
  {
    kind: "thread",
    at: /^(?:requests count|error error)$/,
    when: ({ oursError = "" }) => /has tool calls and was cut off at its token limit/.test(oursError),
    what: "Calls of a response that was cut off are not run.",
    why: "Their arguments can be whole JSON and still not what the model meant.",
  },
  // Refusals that another form of the history can cure. What is refused for anything else is asked once.
  {
    kind: "rule",
    at: /^(?:requests|error|body) refused/,
    when: says(
      /too long|context length|context window|Input Tokens Exceeded|input token count|too_many_prompt_tokens/i,
    ),
    what: "A request that is too long is sent shorter.",
    why: "The provider says that its length is at fault.",
  },
  {
    kind: "rule",
    at: /^(?:requests|error|body) refused/,
    when: says(
      /downloading http|unsupported image|fetch content|Content blocks are expected|content block|s3Uri|file type|file data/i,
    ),
    what: "A picture or file that is refused is described.",
    why: "The provider says that it cannot read it.",
  },
  {
    kind: "rule",
    at: /^(?:requests|error|body) refused/,
    when: says(
      /messages\.\d|messages\[\d+\]|#\/messages\/|No tool output found|required following item|valid role/i,
    ),
    what: "A message that is refused is sent in another form.",
    why: "The provider names a message, or a place in one.",
  },
  {
    kind: "rule",
    at: /^(?:requests|error) refused/,
    when: says(/"(?:tool_use_failed|json_validate_failed)"/),
    what: "A response that failed while it was sampled is asked for again, in the same form.",
    why: "The provider refuses what the model wrote, not what it was sent.",
  },
];

export const explanationOf = (client: string, found: Found): Explained | undefined =>
  EXPLAINED.find(
    ({ clients, at, when }) =>
      (clients?.test(client) ?? true) && at.test(`${found.kind} ${found.path}`) && (when?.(found) ?? true),
  );
