/** Sound histories with what nobody knows: types of blocks, fields, items and roles that are newer than this library. */

import { isDeepStrictEqual } from "node:util";
import { type BaseMessage, ChatMessage, SystemMessage } from "@langchain/core/messages";
import { call, PICTURE, system, user } from "../../support/wire-messages.js";
import { CLIENTS, type Client, type Family, NEWER_CLIENTS } from "./clients.js";
import type { Difference } from "./compare.js";
import { HOSTS_WITH_OWN_FIELDS } from "./exceptions.js";
import { type History, type Pieces, piecesOf } from "./histories.js";

/** The clients of this set. */
export const UNKNOWN_CLIENTS: readonly Client[] = [...CLIENTS, ...NEWER_CLIENTS];

/** The name of the fields that no version of a protocol has. */
const FUTURE_FIELD = "future_field";

const FUTURE = { mode: "far", list: [1, { deep: null, text: "A deep text." }] };
const FIELD = { [FUTURE_FIELD]: FUTURE };
const HI = "How is the sky?";
const said = (words: string, fields: object = {}) => ({ type: "text", text: words, ...fields });

type Make = (pieces: Pieces) => readonly BaseMessage[];

interface Row extends Pick<History, "systemPrompt" | "accepted"> {
  readonly make: Make;
  /** The same history with what every version of the provider knows. */
  readonly plain?: Make;
}

/** What a place of a history is, with blocks in it. */
type Place = (blocks: readonly object[]) => Make;

const ofUser: Place = (blocks) => () => [user(blocks)];
const ofSystem: Place =
  (blocks) =>
  ({ says }) => [system(blocks), user("Hello."), says("Hi."), user(HI)];
const ofLaterSystem: Place =
  (blocks) =>
  ({ says }) => [system("Be brief."), user("Hello."), system(blocks), says("Hi."), user(HI)];
const ofResponse: Place =
  (blocks) =>
  ({ says }) => [user("Hello."), says(blocks), user(HI)];
const besideCall: Place =
  (blocks) =>
  ({ calls, result }) => [user(HI), calls(blocks, [1]), result(1)];
const ofResult: Place =
  (blocks) =>
  ({ calls, result, says }) => [user(HI), calls("", [1]), result(1, blocks), says("Clear."), user("Thanks.")];
const ofLastResult: Place =
  (blocks) =>
  ({ calls, result }) => [user(HI), calls("", [1]), result(1, blocks)];

const PLACES: Readonly<Record<string, Place>> = {
  "a user message": ofUser,
  "a system message": ofSystem,
  "a later system message": ofLaterSystem,
  "a response": ofResponse,
  "a response with a call": besideCall,
  "a result": ofResult,
  "the last result": ofLastResult,
};

/** Histories with the blocks in each of the places. */
function inPlaces(what: string, blocks: readonly object[], places = PLACES): Record<string, Row> {
  return Object.fromEntries(
    Object.entries(places).map(([where, place]) => [
      `${what} in ${where}`,
      { make: place(blocks), plain: place([said("Hello.")]) },
    ]),
  );
}

/** The strict checks know the types of today. What later versions accept is what these histories are about. */
function accepted(makes: Readonly<Record<string, Make>>): Record<string, Row> {
  const source = "A later version of the provider's API.";
  return Object.fromEntries(
    Object.entries(makes).map(([title, make]) => [title, { make, accepted: source }]),
  );
}

/** Histories that the strict checks judge as they are. */
function judged(makes: Readonly<Record<string, Make>>): Record<string, Row> {
  return Object.fromEntries(Object.entries(makes).map(([title, make]) => [title, { make }]));
}

/** Neither the first nor the last block, so that its place is seen. */
const between = (block: object) => [said("Here it is:"), block, said("That was it.")];

/** The marks of OpenAI's prompt cache are taken in these places. */
const MARKED = {
  "a user message": ofUser,
  "a system message": ofSystem,
  "a result": ofResult,
};

function roles(...names: readonly string[]): Record<string, Row> {
  const rows = names.flatMap((role): [string, Make][] => {
    const speaks = () => new ChatMessage({ role, content: "Mind the clouds." });
    return [
      [`the role \`${role}\` in front`, ({ says }) => [speaks(), user("Hello."), says("Hi."), user(HI)]],
      [`the role \`${role}\` in mid-thread`, ({ says }) => [user("Hello."), says("Hi."), speaks(), user(HI)]],
    ];
  });
  return judged(Object.fromEntries(rows));
}

const COMMON: Readonly<Record<string, Row>> = {
  ...inPlaces("a block of an unknown type", between({ type: "future_block", future: FUTURE })),
  ...inPlaces(
    "a block of an unknown type with a text",
    between({ type: "future_block", text: "From the future.", future: FUTURE }),
  ),
  ...inPlaces("an unknown field of a text", [said("Hello.", FIELD), said("How are you?")]),
  ...inPlaces("an unknown field of the only text", [said("Hello.", FIELD)]),
  ...roles("developer", "critic"),
  ...judged({
    "an unknown field of a picture": () => [
      user([
        said("What is this?"),
        { type: "image_url", image_url: { url: "https://example.com/a.png", ...FIELD }, ...FIELD },
      ]),
    ],
    "an unknown field of a call": ({ calls, result, id }) => [
      user(HI),
      calls("I look.", [1], { tool_calls: [{ ...call(id(1), "Rome"), ...FIELD }] }),
      result(1),
    ],
    "an unknown field of a response": ({ says, calls, result }) => [
      user(HI),
      calls("I look.", [1], { additional_kwargs: FIELD }),
      result(1),
      says("Clear.", { additional_kwargs: FIELD, response_metadata: FIELD }),
      user("Thanks."),
    ],
    "an unknown field of a result": ({ calls, result }) => [
      user(HI),
      calls("I look.", [1]),
      result(1, "clear", { additional_kwargs: FIELD, artifact: FUTURE }),
    ],
    "unknown fields of a user and of a system message": ({ says }) => [
      new SystemMessage({ content: "Be brief.", additional_kwargs: FIELD }),
      user("Hello.", { additional_kwargs: FIELD }),
      says("Hi."),
      user(HI),
    ],
  }),
};

/** Google's and Amazon's blocks have no type: their only field names them. */
const TYPELESS = inPlaces("a block without a type", between({ futureBlock: FUTURE }));

/** For clients that send the block. Others would send an empty message. */
const ALONE = inPlaces("nothing but a block of an unknown type", [{ type: "future_block", future: FUTURE }], {
  "a user message": ofUser,
});

const BREAKPOINT = { prompt_cache_breakpoint: { mode: "explicit" } };
const EFFORT = { type: "configuration_update", reasoning: { effort: "high" } };

const CACHE_MARKS = inPlaces("a mark for OpenAI's prompt cache", [said("A long text.", BREAKPOINT)], MARKED);
const DOCUMENT = { type: "document_url", document_url: "https://example.com/a.pdf", document_name: "a.pdf" };
const VIDEO = accepted({
  "a video by address in the host's form": () => [
    user([
      said("What is this?"),
      { type: "video_url", video_url: { url: "https://example.com/a.mp4" }, fps: 2 },
    ]),
  ],
});

const ITEM_MESSAGE = {
  id: "msg_2",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Clear.", annotations: [] }],
};

/** A response of the Responses API with these items, as its client parses it. */
const withItems =
  (...output: readonly object[]): Make =>
  ({ says }) => [
    user(HI),
    says([{ type: "text", text: "Clear.", annotations: [] }], {
      id: "msg_2",
      response_metadata: { id: "resp_1", output },
    }),
    user("Thanks."),
  ];

/** A response with a call and these items in front of it. */
const withItemsAndCall =
  (item: (id: string) => object, ...before: readonly object[]): Make =>
  ({ calls, result, id }) => [
    user(HI),
    calls("", [1], {
      id: "resp_1",
      additional_kwargs: { __openai_function_call_ids__: { [id(1)]: "fc_1" } },
      response_metadata: { id: "resp_1", output: [...before, item(id(1))] },
    }),
    result(1),
  ];

const itemOfCall = (call_id: string) => ({
  id: "fc_1",
  type: "function_call",
  call_id,
  name: "look",
  arguments: '{"city":"Rome"}',
  status: "completed",
});

const SEARCHED = {
  toolCall: { id: "tc1", toolType: "GOOGLE_SEARCH_WEB", args: { queries: ["sky"] } },
  thoughtSignature: "c2ln",
};
const FOUND = {
  toolResponse: { id: "tc1", toolType: "GOOGLE_SEARCH_WEB", response: { search_suggestions: "sky" } },
  thoughtSignature: "c2lu",
};

/** A picture whose base64 has both letters that differ in the URL-safe alphabet. */
const URL_SAFE = PICTURE.replaceAll("+", "-").replaceAll("/", "_");

const GOOGLE: Readonly<Record<string, Make>> = {
  "a picture in URL-safe base64": () => [
    user([{ type: "media", mimeType: "image/png", data: URL_SAFE }, said("What is this?")]),
  ],
  "a picture in URL-safe base64, as `image_url`": () => [
    user([
      { type: "image_url", image_url: { url: `data:image/png;base64,${URL_SAFE}` } },
      said("What is this?"),
    ]),
  ],
};

const OWN: Readonly<Record<Family, Readonly<Record<string, Row>>>> = {
  chat: {
    ...ALONE,
    ...judged({
      "unknown fields of a call in the host's own form": ({ calls, result, id }) => [
        user(HI),
        calls("", [1], {
          additional_kwargs: {
            tool_calls: [
              {
                id: id(1),
                type: "function",
                function: { name: "look", arguments: '{"city":"Rome"}', ...FIELD },
                ...FIELD,
              },
            ],
          },
        }),
        result(1),
      ],
      "the role `developer` of a system message": ({ says }) => [
        new SystemMessage({
          content: "Be brief.",
          additional_kwargs: { __openai_role__: "developer" },
        }),
        user("Hello."),
        says("Hi."),
        user(HI),
      ],
    }),
  },
  responses: {
    ...CACHE_MARKS,
    ...inPlaces(
      "a mark for OpenAI's prompt cache on an `input_text`",
      [{ type: "input_text", text: "A long text.", ...BREAKPOINT }],
      MARKED,
    ),
    ...accepted({
      "a change of OpenAI's configuration": ({ says }) => [
        user("Hello."),
        says("Hi."),
        user([EFFORT, said(HI)]),
      ],
      "a change of OpenAI's configuration among a response's items": withItems(
        { id: "cu_1", ...EFFORT },
        ITEM_MESSAGE,
      ),
      "an unknown item in front of a message": withItems(
        { id: "fi_1", type: "future_item", status: "completed", future: FUTURE },
        ITEM_MESSAGE,
      ),
      "an unknown item after a message": withItems(ITEM_MESSAGE, {
        id: "fi_1",
        type: "future_item",
        future: FUTURE,
      }),
      "an unknown item without an id": withItems({ type: "future_item", future: FUTURE }, ITEM_MESSAGE),
      "an unknown call of a provider's tool and its output": withItems(
        { id: "fc_7", type: "future_call", call_id: "call_7", status: "completed", action: FUTURE },
        { id: "fo_7", type: "future_call_output", call_id: "call_7", output: FUTURE },
        ITEM_MESSAGE,
      ),
      "tools that were found": withItems(
        { id: "ts_1", type: "tool_search_call", execution: "server", status: "completed", arguments: {} },
        { id: "to_1", type: "tool_search_output", execution: "server", status: "completed", tools: [] },
        { id: "at_1", type: "additional_tools", role: "developer", tools: [] },
        ITEM_MESSAGE,
      ),
      "an unknown item in front of a call": withItemsAndCall(itemOfCall, {
        id: "fi_1",
        type: "future_item",
        future: FUTURE,
      }),
      "unknown fields of items": withItems(
        {
          id: "rs_1",
          type: "reasoning",
          summary: [{ type: "future_summary", text: "I look.", ...FIELD }],
          ...FIELD,
        },
        {
          ...ITEM_MESSAGE,
          ...FIELD,
          content: [
            {
              type: "output_text",
              text: "Clear.",
              annotations: [{ type: "future_citation", ...FIELD }],
              ...FIELD,
            },
          ],
        },
      ),
      "an unknown part of a message's item": withItems({
        ...ITEM_MESSAGE,
        content: [...ITEM_MESSAGE.content, { type: "future_part", future: FUTURE }],
      }),
      "unknown fields of a call's item": withItemsAndCall((id) => ({
        ...itemOfCall(id),
        namespace: "crm",
        caller: { type: "program", caller_id: "call_9" },
        ...FIELD,
      })),
      "an unknown output of a provider's tool, from a stream": ({ says }) => [
        user(HI),
        says([{ type: "text", text: "Clear.", annotations: [] }], {
          id: "msg_2",
          additional_kwargs: {
            tool_outputs: [{ id: "fi_1", type: "future_call", status: "completed", action: FUTURE }],
          },
        }),
        user("Thanks."),
      ],
      "an unknown output of a provider's tool beside a call": ({ calls, result, id }) => [
        user(HI),
        calls("", [1], {
          additional_kwargs: {
            tool_outputs: [
              { id: "fi_1", type: "future_call", status: "completed", action: FUTURE },
              {
                id: "sh_1",
                type: "shell_call",
                call_id: "call_s",
                status: "completed",
                action: {},
                ...FIELD,
              },
            ],
            __openai_function_call_ids__: { [id(1)]: "fc_1" },
          },
        }),
        result(1),
      ],
      "an unknown field of an `input_image`": () => [
        user([
          { type: "input_text", text: "What is this?", ...FIELD },
          {
            type: "input_image",
            image_url: "https://example.com/a.png",
            detail: "auto",
            ...FIELD,
          },
        ]),
      ],
    }),
  },
  anthropic: {
    "a cache mark in the system prompt": {
      systemPrompt: new SystemMessage({
        content: [{ type: "text", text: "A long text.", cache_control: { type: "ephemeral" } }],
      }),
      make: () => [user(HI)],
    },
    ...accepted({
      "a cache mark in a system message": ({ says }) => [
        system([
          said("A long text.", { cache_control: { type: "ephemeral", ttl: "1h" } }),
          said("Be brief."),
        ]),
        user("Hello."),
        says("Hi."),
        user(HI),
      ],
      "a cache mark of an unknown kind": () => [
        user([said(HI, { cache_control: { type: "ephemeral", ttl: "7d", scope: "house" } })]),
      ],
      "an unknown tool of the provider": ({ says }) => [
        user(HI),
        says([
          {
            type: "server_tool_use",
            id: "srvtoolu_7",
            name: "future_tool",
            input: FUTURE,
            ...FIELD,
          },
          { type: "future_tool_result", tool_use_id: "srvtoolu_7", content: FUTURE, ...FIELD },
          said("Clear."),
        ]),
        user("Thanks."),
      ],
      "unknown fields of a call's block": ({ calls, result, id }) => [
        user(HI),
        calls(
          [
            {
              type: "tool_use",
              id: id(1),
              name: "look",
              input: { city: "Rome" },
              caller: { type: "direct" },
              ...FIELD,
            },
          ],
          [1],
        ),
        result(1),
      ],
      "an unknown field of signed thinking": ({ calls, result }) => [
        user(HI),
        calls([{ type: "thinking", thinking: "I look.", signature: "c2lnbmVk", ...FIELD }], [1]),
        result(1),
      ],
      "thinking of an unknown type": ({ calls, result }) => [
        user(HI),
        calls([{ type: "future_thinking", sealed: "ZW5jcnlwdGVk" }, said("I look.")], [1]),
        result(1),
      ],
      "an unknown field of a picture in Anthropic's form": () => [
        user([
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: PICTURE, ...FIELD },
            ...FIELD,
          },
          said("What is this?"),
        ]),
      ],
      "a citation of an unknown type": ({ says }) => [
        user("Hello."),
        says([said("Clear.", { citations: [{ type: "future_location", cited_text: "clear", ...FIELD }] })]),
        user(HI),
      ],
    }),
  },
  google: {
    ...TYPELESS,
    ...ALONE,
    ...accepted({
      ...GOOGLE,
      "a tool that Google ran": ({ says }) => [
        user(HI),
        says([{ type: "toolCall", ...SEARCHED }, { type: "toolResponse", ...FOUND }, said("Clear.")]),
        user("Thanks."),
      ],
      "a tool that Google ran, without types": ({ says }) => [
        user(HI),
        says([SEARCHED, FOUND, said("Clear.")]),
        user("Thanks."),
      ],
      "a tool that Google ran beside an own call": ({ calls, result }) => [
        user(HI),
        calls(
          [
            { type: "toolCall", ...SEARCHED },
            { type: "toolResponse", ...FOUND },
          ],
          [1],
        ),
        result(1),
      ],
      "a part with a thought and its signature": ({ says }) => [
        user("Hello."),
        says([{ thought: true, thoughtSignature: "c2ln" }, said("Hi.")]),
        user(HI),
      ],
      "a part with nothing but a signature": ({ calls, result }) => [
        user(HI),
        calls([{ thoughtSignature: "c2ln" }, said("I look.")], [1]),
        result(1),
      ],
      "an unknown part with a signature": ({ says }) => [
        user("Hello."),
        says([{ type: "futurePart", futurePart: FUTURE, thoughtSignature: "c2ln" }, said("Hi.")]),
        user(HI),
      ],
      "unknown fields of a call's part": ({ calls, result, id }) => [
        user(HI),
        calls(
          [
            {
              type: "functionCall",
              functionCall: { id: id(1), name: "look", args: { city: "Rome" }, ...FIELD },
              thoughtSignature: "c2ln",
              ...FIELD,
            },
          ],
          [1],
        ),
        result(1),
      ],
      "an unknown field of code that Google ran": ({ says }) => [
        user("2 + 2?"),
        says([
          {
            type: "executableCode",
            executableCode: { language: "PYTHON", code: "print(4)", id: "x1" },
            ...FIELD,
          },
          {
            type: "codeExecutionResult",
            codeExecutionResult: { outcome: "OUTCOME_OK", output: "4", id: "x1" },
          },
          said("4"),
        ]),
        user("Thanks."),
      ],
      "a picture's resolution": () => [
        user([
          {
            type: "media",
            mimeType: "image/png",
            data: PICTURE,
            mediaResolution: { level: "MEDIA_RESOLUTION_HIGH" },
          },
          said("What is this?"),
        ]),
      ],
    }),
  },
  "google-genai": { ...TYPELESS, ...accepted(GOOGLE) },
  bedrock: {
    ...TYPELESS,
    "a cache point in the system prompt": {
      systemPrompt: new SystemMessage({
        content: [{ type: "text", text: "A long text." }, { cachePoint: { type: "default" } } as never],
      }),
      make: () => [user(HI)],
    },
    ...inPlaces(
      "a guarded text",
      between({ guardContent: { text: { text: "Clear.", qualifiers: ["query"] } } }),
    ),
    ...inPlaces(
      "a guarded text, as the client parses it",
      between({ type: "guard_content", guardContent: { text: { text: "Clear." } } }),
    ),
    ...accepted({
      "a cache point in a system message": ({ says }) => [
        system([said("A long text."), { cachePoint: { type: "default" } }]),
        user("Hello."),
        says("Hi."),
        user(HI),
      ],
      "a cache point of one hour in a system message": ({ says }) => [
        system([said("A long text."), { cachePoint: { type: "default", ttl: "1h" } }, said("Be brief.")]),
        user("Hello."),
        says("Hi."),
        user(HI),
      ],
      "a cache point in a response": ({ says }) => [
        user("Hello."),
        says([said("Hi."), { cachePoint: { type: "default" } }]),
        user(HI),
      ],
      "a search result in a result": ({ calls, result }) => [
        user(HI),
        calls("I look.", [1]),
        result(1, [{ searchResult: { source: "https://example.com", title: "Sky", content: [] } }]),
      ],
    }),
  },
  ollama: {},
  mistral: accepted({
    "a document by address with its name": () => [user([said("What is this?"), DOCUMENT])],
    "a tool that Mistral ran": ({ says }) => [
      user(HI),
      says([
        { type: "tool_file", tool: "code_interpreter", file_id: "f1", file_type: "png" },
        said("Clear."),
      ]),
      user("Thanks."),
    ],
  }),
  other: {},
};

/** What one client's provider has documented, or what only newer models take. */
const OF_CLIENT: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  ChatOpenAI: CACHE_MARKS,
  AzureChatOpenAI: CACHE_MARKS,
  "ChatOpenAI at Mistral's host": accepted({
    "a document by address in Mistral's form": () => [user([said("What is this?"), DOCUMENT])],
  }),
  // EKKOLearnAI/hermes-studio/issues/1926
  ChatDeepSeek: roles("latest_reminder"),
  "ChatOpenAI at DeepSeek's host": roles("latest_reminder"),
  // platform.minimax.io: text generation, M2-her
  "ChatOpenAI at MiniMax's host": roles("user_system"),
  "ChatOpenAI at Qwen's host": VIDEO,
  "ChatOpenAI at Kimi's host": VIDEO,
  "ChatOpenAI at GLM's host": VIDEO,
  "ChatOpenAI at vLLM": VIDEO,
  "ChatOpenAI at OpenRouter": VIDEO,
  "ChatAnthropic (Claude Opus 4.8)": accepted({
    "an added tool in a system message": ({ says }) => [
      user("Hello."),
      says("Hi."),
      user(HI),
      system([{ type: "tool_addition", tool: { type: "tool_reference", name: "look" } }]),
    ],
    "an added tool in mid-thread": ({ says }) => [
      user("Hello."),
      system([{ type: "tool_addition", tool: { type: "tool_reference", name: "look" } }]),
      says("Hi."),
      user(HI),
    ],
    "a removed tool and a text in a system message": ({ says }) => [
      user("Hello."),
      says("Hi."),
      user(HI),
      system([
        { type: "tool_removal", tool: { type: "tool_reference", name: "look" } },
        said("You may not look any more."),
      ]),
    ],
  }),
};

/** Histories that a provider is documented to refuse, or that the table of exceptions explains in another form. */
const LEFT_OUT: readonly (readonly [client: RegExp, title: RegExp])[] = [
  // "unknown variant `image_url`, expected `text`": it reads nothing but texts.
  [/DeepSeek/, /\bblock\b/],
  // earendil-works/pi/issues/1048, openclaw/openclaw/issues/23115 and 8579
  [/DeepSeek|GLM|at Kimi/, /the role `(developer|critic)`/],
  // "Supported values are: 'assistant', 'system', 'developer', and 'user'."
  [/^(Azure)?ChatOpenAI( \(Responses\))?$/, /the role `critic`/],
  // One of Google's clients throws for this role, and the other sends a developer's words as the user's.
  [/^ChatGoogle/, /the role `developer`/],
  // The client leaves out the result, and Anthropic refuses the call alone: vercel/ai/issues/13040. A text tells both.
  [/^ChatAnthropic/, /an unknown tool of the provider/],
  // The client names such a part by a type. Google knows no types, and refuses them.
  [/^ChatGoogle( \(|$)/, /a tool that Google ran|an unknown part with a signature/],
  // "System messages are joined": Gemini has one place for them.
  [/^ChatGoogle/, /in a later system message/],
];

/** A host gets a field back that it put into a response itself, also where the client leaves it out. */
export function isPutBack({ name }: Client, { path, alone, ours }: Difference): boolean {
  return (
    HOSTS_WITH_OWN_FIELDS.includes(name) &&
    path.endsWith(`.${FUTURE_FIELD}`) &&
    alone === undefined &&
    isDeepStrictEqual(ours, FUTURE)
  );
}

/** Every history of a client with what nobody knows. */
export function unknownHistoriesOf(client: Client): readonly History[] {
  const pieces = piecesOf(client);
  return Object.entries({ ...COMMON, ...OWN[client.family], ...OF_CLIENT[client.name] })
    .filter(([title]) => !LEFT_OUT.some(([name, part]) => name.test(client.name) && part.test(title)))
    .map(([title, { make, plain, ...more }]) => ({
      title,
      ...more,
      ...(plain !== undefined && { plain: () => [...plain(pieces)] }),
      messages: () => [...make(pieces)],
    }));
}
