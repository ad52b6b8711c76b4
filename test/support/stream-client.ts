/** A run over the SDK, as `useStream` shows it with only the stream mode `messages-tuple`. */

import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import type { Client, Message } from "@langchain/langgraph-sdk";
import { MessageTupleManager, StreamManager } from "@langchain/langgraph-sdk/ui";
import { user } from "./thread.js";

interface Values extends Record<string, unknown> {
  messages: Message[];
}

export interface ShownRun {
  /** The messages that the client has in the end. */
  readonly messages: readonly BaseMessage[];
  readonly failure: unknown;
}

export async function showRun(
  client: Client,
  graph: string,
  threadId: string,
  text: string,
): Promise<ShownRun> {
  const manager = new StreamManager<Values>(new MessageTupleManager(), { throttle: false });
  let failure: unknown;
  await manager.start(
    async (signal) =>
      client.runs.stream(threadId, graph, {
        input: user(text),
        streamMode: ["messages-tuple"],
        signal,
      }) as never,
    {
      getMessages: (values: Values) => values.messages ?? [],
      setMessages: (values: Values, messages: Message[]) => ({ ...values, messages }),
      initialValues: { messages: [] },
      callbacks: {},
      onSuccess: () => undefined,
      onError: (error: unknown) => {
        failure = error;
      },
    } as never,
  );
  const messages = (manager.values?.messages ?? []).map((message) =>
    coerceMessageLikeToMessage(message as never),
  );
  return { messages, failure };
}
