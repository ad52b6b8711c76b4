/**
 * `ChatAlibabaTongyi` with retries, and with DashScope's text in its errors.
 *
 * The `AsyncCaller` of the client cannot see its requests fail. The request of a stream is sent when the first chunk
 * is read, outside the caller. Without streaming the client ignores the HTTP status, so a refusal without `code`
 * looks like an empty response. It also loses DashScope's error text, decodes a character that the network cuts as
 * two broken ones, and skips lines that it cannot read. So the two methods that send are replaced.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { convertEventStreamToIterableReadableDataStream } from "@langchain/core/utils/event_source_parse";
import { importOptional } from "../import-optional.js";
import type { ModelFields } from "../model-fields.js";

type Send = (request: object, signal?: AbortSignal) => Promise<Response>;

export async function createTongyiModel({ apiKey, baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatAlibabaTongyi } = await importOptional<
    typeof import("@langchain/community/chat_models/alibaba_tongyi")
  >("@langchain/community/chat_models/alibaba_tongyi");
  const apiUrl = baseURL === undefined ? {} : { apiUrl: baseURL };
  const client = new ChatAlibabaTongyi({ ...fields, alibabaApiKey: apiKey, ...apiUrl });

  const sender =
    (headers: Record<string, string>): Send =>
    async (request, signal) => {
      const response = await fetch(client.apiUrl, {
        method: "POST",
        headers: { ...headers, Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
        body: JSON.stringify(request),
        ...(signal && { signal }),
      });
      if (!response.ok) throw await readRefusal(response);
      return response;
    };
  const send = sender({});
  const collectStream = client.completionWithRetry.bind(client);
  const sendStreaming = sender({ Accept: "text/event-stream", "X-DashScope-SSE": "enable" });

  // One of them is private in the types, so neither can be overridden in a subclass.
  return Object.defineProperties(client, {
    completionWithRetry: {
      value: (...[request, streams, signal, onMessage]: Parameters<typeof collectStream>) =>
        streams
          ? collectStream(request, streams, signal, onMessage)
          : client.caller.call(async () => (await send(request, signal)).json()),
    },
    // The client calls this within its caller, and awaits it there.
    createTongyiStream: {
      value: async (request: object, signal?: AbortSignal) =>
        readEvents(await sendStreaming(request, signal)),
    },
  });
}

async function readRefusal(response: Response): Promise<Error> {
  const text = await response.text();
  const { status, headers } = response;
  return Object.assign(new Error(`${status} ${text}`), { status, headers });
}

async function* readEvents({ body }: Response): AsyncGenerator<object> {
  if (body === null) return;
  for await (const data of convertEventStreamToIterableReadableDataStream(body)) yield JSON.parse(data);
}
