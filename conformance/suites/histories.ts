/** Broken histories from public reports, and cuts of recorded conversations. */

import {
  type BaseMessage,
  coerceMessageLikeToMessage,
  mapChatMessagesToStoredMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { BROKEN_HISTORIES } from "../../test/support/broken-histories.js";
import { recordedConversations } from "../../test/support/recorded-conversations.js";
import {
  ANSWER,
  type StrictProvider,
  startStrictProvider,
} from "../../test/support/strict-provider/start-strict-provider.js";
import type { Adapter, Host, ToolSpec } from "../adapter.js";
import { human, textOfStored } from "../stored.js";
import { type Case, DASH, fault, messageOf, type Outcome, PASS, type Suite } from "../suite.js";

const READ: ToolSpec = {
  name: "read",
  description: "Reads a file.",
  schema: { type: "object", properties: {} },
  run: () => "read",
};

interface History {
  readonly id: string;
  readonly host: Host;
  readonly messages: readonly StoredMessage[];
  readonly source?: string;
}

/** Each history is sent as the input of one turn. The provider must accept it, and see every text of the user. */
function suiteOf(about: Pick<Suite, "name" | "title" | "passes">, histories: readonly History[]): Suite {
  return {
    ...about,
    applies: () => true,
    open: async (adapter) => {
      const strict = await startStrictProvider();
      return { cases: histories.map((history) => caseOf(adapter, strict, history)), close: strict.stop };
    },
  };
}

function caseOf(adapter: Adapter, strict: StrictProvider, { id, host, messages, source }: History): Case {
  const run = async (): Promise<Outcome> => {
    if (!adapter.hosts.includes(host)) return DASH;
    const before = strict.requests.length;
    const sent = () => strict.requests.slice(before).map(({ body }) => body);
    try {
      const agent = await adapter.open({ endpoint: { host, url: strict.url(host) }, tools: [READ] });
      const answer = await agent.send(messages);
      if (answer !== ANSWER) return fault("The run ended without the model's answer.", messages, answer);
    } catch (error) {
      return fault(messageOf(error), messages, sent());
    }
    const request = JSON.stringify(sent().at(-1));
    const lost = messages
      .filter(({ type }) => type === "human")
      .find((message) => !request.includes(JSON.stringify(textOfStored(message)).slice(1, -1)));
    if (lost === undefined) return PASS;
    return fault(`The model did not see "${textOfStored(lost).slice(0, 40)}".`, messages, sent());
  };
  return { id, run, ...(source !== undefined && { source }) };
}

export const reportedHistories = suiteOf(
  {
    name: "histories",
    title: "broken histories",
    passes:
      "A history that somebody reported, with the words of the provider that refused it, is given to the agent. The provider accepts the request, and every text of the user is in it.",
  },
  BROKEN_HISTORIES.filter(({ provider }) => provider !== "dashscope-native").map(
    ({ title, provider, history, report }) => ({
      id: `${provider}: ${title}`,
      host: provider,
      messages: mapChatMessagesToStoredMessages(history),
      source: report,
    }),
  ),
);

const GO_ON = human("Go on.");
const EVERY = 9;

/** The ways in which programs cut a thread: at its end, at its beginning, and in the middle. */
const CUTS = {
  "ends with a call": (list, call) => [...list.slice(0, call + 1), GO_ON],
  "begins with a result": (list, call) => [...list.slice(call + 1, call + 12), GO_ON],
  "lacks its middle": (list, call) => [...list.slice(0, 2), ...list.slice(call + 1, call + 12), GO_ON],
  "lacks a result": (list, call) => [...list.slice(0, call + 1), ...list.slice(call + 2), GO_ON],
} as const satisfies Record<string, (list: readonly StoredMessage[], call: number) => StoredMessage[]>;

function cutsOf(conversation: readonly BaseMessage[], number: number): History[] {
  const list = mapChatMessagesToStoredMessages([...conversation]);
  const calls = list.flatMap((_, index) => (list[index + 1]?.type === "tool" ? [index] : []));
  const call = calls[Math.floor(calls.length / 2)];
  if (call === undefined) return [];
  return Object.entries(CUTS).map(([title, cut], index) => ({
    id: `conversation ${number} ${title}`,
    host: index % 2 === number % 2 ? ("openai" as const) : ("anthropic" as const),
    messages: cut(list, call),
  }));
}

export const recordedCuts = suiteOf(
  {
    name: "cuts",
    title: "cut conversations",
    passes:
      "A conversation with the shape of a recorded one is cut in four ways and given to the agent. The provider accepts the request, and every text of the user is in it.",
  },
  recordedConversations.flatMap((conversation, number) =>
    number % EVERY === 0
      ? cutsOf(
          // An empty result is a fault of another kind.
          conversation.map(({ content, ...message }) =>
            coerceMessageLikeToMessage({ ...message, content: content === "" ? "none" : content } as never),
          ),
          number,
        )
      : [],
  ),
);
