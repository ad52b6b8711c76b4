/** The differences between a client alone and with the library that have a reason. Any other one is a fault. */

import { isDeepStrictEqual } from "node:util";
import { EXCEPTIONS, type Exception, type ExceptionKind } from "../../test/wire/unchanged/exceptions.js";
import type { Found } from "./found.js";
import { FINAL_TEXT } from "./protocols.js";
import type { Exchange } from "./read-exchanges.js";
import { isFields, listOf, textOf } from "./values.js";

export interface Explained {
  readonly kind: ExceptionKind;
  /** Undefined: all clients. */
  readonly clients?: RegExp;
  /** What is compared, and the place in it, as the report writes it. */
  readonly at: RegExp;
  /** What the values must be. Undefined: any. */
  readonly when?: (found: Found, exchange: Exchange) => boolean;
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

const isText = (value: unknown): value is string => typeof value === "string";

const textIn = (part: unknown) => (isFields(part) && isText(part["text"]) ? part["text"] : undefined);

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
    when: ({ words, aloneError }) => words === undefined && aloneError !== undefined,
    what: "Where the client alone throws, it is asked once more in the other manner, and the turn goes on.",
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
    clients: /^(?!ChatAnthropic|ChatGoogle|ChatBedrock)/,
    at: /^body .*messages\[\](?:\.tool_calls\[\])?\.\w+$/,
    when: isNew,
  },
  {
    kind: "client",
    at: /^messages .*\.additional_kwargs(?:\.\w+)?$/,
    when: isNew,
    what: "Fields that only the host knows are stored, with their names.",
    why: "The client leaves them out, and the host may want them back.",
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
    kind: "rule",
    at: /^body .*messages\[\]\.(?:tool_calls|function_call)$/,
    when: ({ alone, ours }) =>
      ours === undefined && (isEmptyList(alone) || (isFields(alone) && alone["name"] === "")),
    what: "An empty list of calls, or a call without a name, is not sent.",
    why: "OpenAI and others refuse an empty list. Hosts write it where there is no call.",
  },
  {
    kind: "client",
    at: /^(?:messages|body) .*\.(?:args\.\w+|encrypted_content|status|annotations|phase|thoughtSignature|content)$/,
    when: isNew,
    what: "A streamed response has all fields of its items.",
    why: "The client leaves them out of a stream, and keeps them in one piece.",
  },
  {
    kind: "client",
    at: /^messages .*\.summary\[\]\.index$/,
    when: ({ ours }) => ours === undefined,
    what: "A stored summary has no numbers of pieces.",
    why: "The client keeps them from the stream.",
  },
  {
    kind: "client",
    at: /^(?:messages .*(?:\.invalid_tool_calls|\.content(?:\[\](?:\.input)?)?)|body .*\.content\[\]\.input\.\w+)$/,
    clients: /^ChatAnthropic$/,
    when: ({ alone, ours }) =>
      alone === undefined ||
      /"input_json_delta"|^\[\[?\{"index":/.test(JSON.stringify([alone])) ||
      JSON.stringify([alone]).includes('"args":"{') ||
      (alone === "" && ours !== undefined),
    what: "The streamed input of a call is in its block.",
    why: "The client leaves the pieces of the input beside it.",
  },
  {
    kind: "client",
    clients: /^ChatAnthropic$/,
    at: /^body .*\.content(?:\[\])?$/,
    when: ({ alone, ours }) =>
      / returned: |advisor|web_fetch|code_execution|mcp_/.test(JSON.stringify([alone, ours])),
    what: "A call of a provider's tool goes back with its result. Without its partner, either becomes a text.",
    why: "The client leaves out some results, and Anthropic refuses a call without one and a result without its call.",
  },
  {
    kind: "client",
    clients: /^ChatOpenAI \(Responses\)/,
    at: /^body .*input\.roles$/,
    when: ({ alone, ours }) =>
      isText(alone) && isText(ours) && alone.replace(" user", "") !== ours && ours.includes("_output"),
    what: "Each item of a response goes back.",
    why: "The client leaves out items of a stream that it does not know.",
  },
  {
    kind: "thread",
    at: /^body .*(?:input\.roles|\.content)$/,
    when: ({ alone, ours }) =>
      /tool_search|"thinking"/.test(JSON.stringify(alone)) &&
      !/tool_search|"thinking"/.test(JSON.stringify(ours)),
    what: "What only its author can read is not sent to a model of another name.",
    why: "These recordings have no note of who was asked, so names decide, and an alias has another one.",
  },
  {
    kind: "rule",
    at: /^body .*(?:messages|input)\.roles$/,
    when: ({ alone, ours }) =>
      isText(alone) && isText(ours) && alone.endsWith(ours) && /^assistant (?:compaction )?user$/.test(ours),
    what: "What is before a compaction is not sent.",
    why: "The provider has compacted it, and reads nothing before it.",
  },
  {
    kind: "rule",
    at: /^body .*messages\.roles$/,
    when: ({ alone, ours }) => isText(alone) && ours === `${alone} user` && / (?:tool|user)$/.test(alone),
    what: "Pictures and files of results go in a user message after them.",
    why: "OpenAI refuses them in a result, and of other hosts nobody knows it.",
  },
  {
    kind: "rule",
    at: /^body .*\.image_url$/,
    when: ({ alone, ours }) => isText(alone) && isFields(ours) && ours["url"] === alone,
    what: "The address of a picture goes in an object.",
    why: "It is the form that all hosts with this protocol take.",
  },
  {
    ...like("A picture that the model made is sent as `inlineData`, with its signature."),
    clients: /^ChatGoogle\b(?!Gen)/,
    at: /^body .*parts\[\]\.type$/,
    when: ({ alone, ours }) => alone === "inlineData" && ours === undefined,
  },
  {
    kind: "rule",
    clients: /^ChatGoogle\b|^ChatAnthropic$/,
    at: /^body .*(?:\.parts|\.content)$/,
    when: ({ alone, ours }) =>
      isDeepStrictEqual(
        listOf(alone).filter((part) => textIn(part)?.trim() !== ""),
        ours,
      ),
    what: "Blank texts are left out.",
    why: "Anthropic refuses them, and so did Gemini before version 3.",
  },
  {
    kind: "thread",
    at: /^messages .*\.id$/,
    when: ({ alone }) => alone === "",
    what: "A response whose host gives an empty id has one of its own.",
    why: "A state keeps one message of each id.",
  },
  {
    kind: "thread",
    at: /^(?:requests count|error error)$/,
    when: ({ oursError = "" }) => /has not been written yet|has neither text nor a tool call/.test(oursError),
    what: "A response that is empty, or only queued, is no answer.",
    why: "The client stores an empty message, and the turn would end as if the model had said nothing.",
  },
  {
    kind: "rule",
    at: /^body .*contents\.roles$/,
    when: ({ alone, ours }) => alone === "user model user" && ours === "user",
    what: "A response of a blank text is left out.",
    why: "Gemini refused blank texts before version 3.",
  },
  {
    kind: "thread",
    at: /^(?:requests count|(?:messages|body) .*\.roles)$/,
    when: (_, { body }) => /"function":\s?\{"name":\s?"\w+"\}/.test(textOf(body)),
    what: "A call without arguments runs its tool.",
    why: "The client cannot read it, and the turn ends in silence.",
  },
  {
    kind: "thread",
    at: /^requests count$/,
    when: (_, { body }) => /\nerror: /.test(textOf(body)),
    what: "A stream that breaks off is asked for again.",
    why: "The client takes what came of it for the response.",
  },
  {
    kind: "thread",
    clients: /^ChatAnthropic$/,
    at: /^(?:requests|messages|body|shown) /,
    when: (_, { body }) => textOf(body).includes('"pause_turn"'),
    what: "A turn that its provider paused goes on.",
    why: "The client ends it there, in the middle.",
  },
  {
    kind: "client",
    at: /^(?:messages|body|shown) /,
    when: ({ alone, path }) =>
      (path === "text" && isEmptyList(alone)) ||
      (isText(alone) && (/generic/.test(alone) || alone.includes("content+name"))),
    what: "A streamed response is shown, also if its pieces have no role or no text that the client reads.",
    why: "The client makes messages of no role of them, or shows nothing.",
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
  {
    kind: "rule",
    at: /^body .*(?:\.tool_calls\[\]\.id|\.tool_call_id)$/,
    when: ({ alone, ours }) => alone === "" && isText(ours),
    what: "A call whose id is empty gets one.",
    why: "A result belongs to a call by its id, and most hosts refuse an empty one.",
  },
  {
    kind: "client",
    at: /^messages .*\.additional_kwargs\.reasoning_details\[\]\.\w+$/,
    when: ({ alone, ours }) =>
      isText(alone) && isText(ours) && ours.length > 0 && alone.split(ours).join("") === "",
    what: "A word that each piece of a stream repeats is stored once.",
    why: "The client joins the words.",
  },
  {
    kind: "client",
    clients: /^ChatAnthropic$/,
    at: /^(?:history foreign-block|(?:body|messages) .*\.content)$/,
    when: ({ alone, ours }) =>
      /'image' found|"file_id":|"compaction","content":null/.test(JSON.stringify([alone, ours])),
    what: "A picture by its id in a result, and a compaction that failed, are sent.",
    why: "The client leaves them out.",
  },
  {
    kind: "client",
    clients: /^ChatAnthropic$/,
    at: /^history server-call-without-result$/,
    when: ({ ours }) => /advisor|web_fetch|code_execution|mcp/.test(String(ours)),
    what: "The check finds a call whose result the client leaves out.",
    why: "It judges what the client sends, which Anthropic refuses.",
  },
  {
    kind: "thread",
    at: /^error error$/,
    when: ({ way, alone, ours }) => way === "createAgentGraph" && alone === undefined && ours === undefined,
    what: "A thread that ends with a response asks nobody.",
    why: "Its turn is over.",
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

export const explanationOf = (client: string, found: Found, exchange: Exchange): Explained | undefined =>
  EXPLAINED.find(
    ({ clients, at, when }) =>
      (clients?.test(client) ?? true) &&
      at.test(`${found.kind} ${found.path}`) &&
      (when?.(found, exchange) ?? true),
  );
