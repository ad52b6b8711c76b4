/** Gives a history to an agent as the input of one turn. */

import type { StoredMessage } from "@langchain/core/messages";
import {
  ANSWER,
  type StrictProvider,
  startStrictProvider,
} from "../../test/support/strict-provider/start-strict-provider.js";
import type { Adapter, Host, ToolSpec } from "../adapter.js";
import { textOfStored } from "../stored.js";
import { type Case, DASH, fault, messageOf, type Outcome, PASS, type Suite } from "../suite.js";

const READ: ToolSpec = {
  name: "read",
  description: "Reads a file.",
  schema: { type: "object", properties: {} },
  run: () => "read",
};

export interface History {
  readonly id: string;
  readonly host: Host;
  readonly messages: readonly StoredMessage[];
  readonly source?: string;
}

/** The provider must accept what each history becomes, and see every text of the user. */
export function suiteOf(about: Pick<Suite, "name" | "passes">, histories: readonly History[]): Suite {
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
      // After the assistant's own words there is nothing to answer, so an agent need not ask.
      if (sent().length === 0 && messages.at(-1)?.type === "ai") return DASH;
      if (answer !== ANSWER) return fault("The run ended without the model's answer.", messages, answer);
    } catch (error) {
      return fault(messageOf(error), messages, sent());
    }
    // A text that a summary represents was sent to the summariser.
    const requests = JSON.stringify(sent());
    const lost = messages
      .filter(({ type }) => type === "human")
      .find((message) => !requests.includes(JSON.stringify(textOfStored(message)).slice(1, -1)));
    if (lost === undefined) return PASS;
    return fault(`The model did not see "${textOfStored(lost).slice(0, 40)}".`, messages, sent());
  };
  return { id, run, ...(source !== undefined && { source }) };
}
