/** Sends one history three ways through a real client, and compares the requests. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import type { Client } from "./clients.js";
import { type Difference, differencesOf } from "./compare.js";
import type { History } from "./histories.js";
import type { Recorded, Recorder } from "./start-recorder.js";

/** Both ways to the library. */
export const WAYS = ["createAgentGraph", "tetherMiddleware"] as const;
export type Way = (typeof WAYS)[number];

export type Outcome =
  /** The client cannot send it alone, or its provider refuses it by a known rule. */
  | { readonly kind: "not-sendable"; readonly why: string }
  | { readonly kind: "same" }
  | { readonly kind: "differs"; readonly differences: readonly Found[] };

export interface Found extends Difference {
  readonly ways: readonly Way[];
}

interface Sent {
  readonly request: Recorded | undefined;
  readonly error: unknown;
}

const look = tool(() => "clear", {
  name: "look",
  description: "Looks at the sky over a city.",
  schema: z.object({ city: z.string() }),
});

/** Every id that a stored item can have counts as stored. */
const EVERY_ID: ReadonlySet<string> = new (class extends Set<string> {
  override has(): boolean {
    return true;
  }
})();

type Agent = (model: BaseChatModel, history: History) => unknown;

/** The ways that can have this history. */
const waysOf = ({ systemPrompt }: History): readonly Way[] =>
  typeof systemPrompt === "object" ? ["tetherMiddleware"] : WAYS;

/** The tools of a request. */
const toolsOf = ({ tools = [] }: History) => [look, ...tools] as never;
const promptOf = ({ systemPrompt }: History) => (systemPrompt === undefined ? {} : { systemPrompt });
const textPromptOf = ({ systemPrompt }: History) =>
  typeof systemPrompt === "string" ? { systemPrompt } : {};

/** What a program sends without the library, and with it. */
const AGENTS: Readonly<Record<Way, { readonly alone: Agent; readonly ours: Agent }>> = {
  createAgentGraph: {
    alone: (model, history) => {
      const { systemPrompt } = textPromptOf(history);
      const prompt = systemPrompt === undefined ? [] : [new SystemMessage(systemPrompt)];
      const bound = model.bindTools?.(toolsOf(history)) ?? model;
      return bound.invoke([...prompt, ...history.messages()]);
    },
    ours: (model, history) =>
      createAgentGraph({
        model,
        tools: toolsOf(history),
        // The program alone sets no marks for a prompt cache.
        promptCache: history.promptCache ?? "off",
        ...textPromptOf(history),
      }).invoke({ messages: history.messages() }),
  },
  tetherMiddleware: {
    alone: (model, history) =>
      createAgent({ model, tools: toolsOf(history), ...promptOf(history) }).invoke({
        messages: history.messages(),
      }),
    ours: (model, history) =>
      createAgent({
        model,
        tools: toolsOf(history),
        middleware: [tetherMiddleware()],
        ...promptOf(history),
      }).invoke({ messages: history.messages() }),
  },
};

/** How each way differs from what the program sends without the library. */
export async function measure(client: Client, history: History, recorder: Recorder): Promise<Outcome> {
  const send = async (agent: Agent, sent = history): Promise<Sent> => {
    const { requests, error } = await recorder.record(() => agent(client.create(recorder), sent));
    return { request: requests[0], error };
  };
  const found = new Map<string, Found>();
  const hindrances: string[] = [];
  const ways = waysOf(history);
  for (const way of ways) {
    const alone = await send(AGENTS[way].alone);
    const judged = await judgedOf(history, alone, (plain) => send(AGENTS[way].alone, plain));
    const hindrance = hindranceOf(client, history, judged);
    if (alone.request === undefined || hindrance !== undefined) {
      hindrances.push(hindrance ?? "");
      continue;
    }
    for (const difference of differencesFrom(alone.request, await send(AGENTS[way].ours))) {
      const key = JSON.stringify(difference);
      const known = found.get(key)?.ways ?? [];
      found.set(key, { ...difference, ways: [...new Set([...known, way])] });
    }
  }
  const [why] = hindrances;
  if (why !== undefined && hindrances.length === ways.length) return { kind: "not-sendable", why };
  return found.size === 0 ? { kind: "same" } : { kind: "differs", differences: [...found.values()] };
}

/** The request that the strict check judges. What the client cannot send is not sendable in any form. */
async function judgedOf(
  history: History,
  alone: Sent,
  send: (plain: History) => Promise<Sent>,
): Promise<Sent> {
  const { plain } = history;
  return plain === undefined || alone.request === undefined ? alone : send({ ...history, messages: plain });
}

/** Why the history is not a sound one for the client. */
function hindranceOf(client: Client, history: History, { request, error }: Sent): string | undefined {
  if (request === undefined) return `The client throws: ${messageOf(error)}`;
  const refusal = history.accepted === undefined ? client.check?.(request.body, EVERY_ID) : undefined;
  return refusal === undefined ? undefined : `The provider refuses it: ${textOf(refusal.body)}`;
}

function differencesFrom(alone: Recorded, { request: ours, error }: Sent): Difference[] {
  if (ours === undefined) return [{ path: "", alone: "a request", ours: messageOf(error) }];
  return [...differencesOf(hostOf(alone), hostOf(ours), "host"), ...differencesOf(alone.body, ours.body)];
}

function hostOf({ url }: Recorded): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).slice(0, 200);
const textOf = (body: object) => JSON.stringify(body).slice(0, 300);
