/** Sound histories, which an agent sends as its client alone sends them. */

import {
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { CLIENTS, type Client } from "../../test/wire/unchanged/clients.js";
import { type Difference, differencesOf } from "../../test/wire/unchanged/compare.js";
import { exceptionOf } from "../../test/wire/unchanged/exceptions.js";
import { type History, historiesOf } from "../../test/wire/unchanged/histories.js";
import { type Recorder, startRecorder } from "../../test/wire/unchanged/start-recorder.js";
import type { Adapter, Host, ToolSpec } from "../adapter.js";
import { createModel } from "../adapters/langchain-agent.js";
import { type Case, DASH, fault, messageOf, type Outcome, PASS, type Suite } from "../suite.js";

/** Who has the ids and the fields of each host's histories. */
const MAKERS: Readonly<Partial<Record<Host, string>>> = {
  openai: "ChatOpenAI",
  "openai-responses": "ChatOpenAI (Responses)",
  anthropic: "ChatAnthropic",
  gemini: "ChatGoogleGenerativeAI",
  mistral: "ChatMistralAI",
  deepseek: "ChatDeepSeek",
  dashscope: "ChatOpenAI at Qwen's host",
};

/** The address of the recorder is that of a host that nobody knows, which may have fields of its own. */
const UNKNOWN_HOST = "ChatOpenAI at vLLM";

const LOOK: ToolSpec = {
  name: "look",
  description: "Looks at the sky over a city.",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  run: () => "clear",
};

/** Every stored item counts as stored. */
const EVERY_ID = { has: () => true } as unknown as ReadonlySet<string>;

interface AskedModel {
  readonly model: string;
  bindTools(tools: readonly object[]): AskedModel;
  invoke(messages: readonly unknown[]): Promise<unknown>;
}

export const sound: Suite = {
  name: "sound",
  passes:
    "A sound history is given to the agent. Its messages are sent as the client sends them alone, but for what docs/providers.md lists with a reason.",
  applies: ({ makeGraph }) => makeGraph !== undefined,
  open: async (adapter) => {
    const recorder = await startRecorder();
    const cases = Object.entries(MAKERS).flatMap(([host, name]) => {
      const maker = CLIENTS.find((client) => client.name === name);
      if (maker === undefined || !adapter.hosts.includes(host as Host)) return [];
      const endpoint = { host: host as Host, url: recorder.url };
      const client = { ...maker, model: askedModel(endpoint).model };
      return historiesOf(client)
        .filter(({ systemPrompt }) => systemPrompt === undefined)
        .map((history) => caseOf({ adapter, recorder, client, endpoint }, history));
    });
    return { cases, close: recorder.stop };
  },
};

interface Asking {
  readonly adapter: Adapter;
  readonly recorder: Recorder;
  readonly client: Client;
  readonly endpoint: { readonly host: Host; readonly url: string };
}

const askedModel = (endpoint: Asking["endpoint"]) => createModel(endpoint) as AskedModel;

function caseOf({ adapter, recorder, client, endpoint }: Asking, history: History): Case {
  const { title, accepted } = history;
  const run = async (): Promise<Outcome> => {
    const messages = mapChatMessagesToStoredMessages(history.messages());
    const bodyOf = async (send: (given: readonly StoredMessage[]) => unknown) => {
      const { requests, error } = await recorder.record(() => send(messages));
      return { body: requests[0]?.body, error };
    };
    const { body: alone } = await bodyOf((given) =>
      askedModel(endpoint)
        .bindTools([openAITool(LOOK)])
        .invoke(mapStoredMessagesToChatMessages([...given])),
    );
    // The client throws, or its provider refuses it.
    if (alone === undefined) return DASH;
    if (accepted === undefined && client.check?.(alone, EVERY_ID) !== undefined) return DASH;
    const { body, error } = await bodyOf(async (given) => {
      const agent = await adapter.open({ endpoint, tools: [LOOK] });
      return agent.send(given);
    });
    if (body === undefined) return fault(`Nothing was sent: ${messageOf(error)}`, messages);
    const isExplained = (difference: Difference) =>
      [client.name, UNKNOWN_HOST].some((name) => exceptionOf(name, title, { ...difference, ways: [] }));
    const differences = differencesOf(talkIn(alone), talkIn(body)).filter(
      (difference) => !isOwnMark(difference) && !isExplained(difference),
    );
    if (differences.length === 0) return PASS;
    const paths = [...new Set(differences.map(({ path }) => path))].join(", ");
    return fault(`It is not sent as it is stored: ${paths}`, messages, differences);
  };
  return { id: `${endpoint.host}: ${title}`, run };
}

const openAITool = ({ name, description, schema }: ToolSpec) => ({
  type: "function",
  function: { name, description, parameters: schema },
});

/** The messages of a request. Each agent has tools, settings and a system prompt in front of its own. */
function talkIn(body: unknown): Readonly<Record<string, unknown>> {
  const { messages, input, contents } = Object(body);
  const isSystem = ({ role }: { readonly role?: unknown }) => role === "system" || role === "developer";
  const cut = (list: unknown) =>
    Array.isArray(list)
      ? {
          list: list.slice(
            Math.max(
              list.findIndex((item) => !isSystem(item)),
              0,
            ),
          ),
        }
      : {};
  const named = { messages: cut(messages).list, input: cut(input).list, contents: cut(contents).list };
  return Object.fromEntries(Object.entries(named).filter(([, list]) => list !== undefined));
}

/** A mark for the prompt cache that the agent sets of its own accord changes nothing that the model reads. */
const isOwnMark = ({ path, alone }: Difference) => path.endsWith(".cache_control") && alone === undefined;
