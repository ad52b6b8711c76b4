/** A request as the client of its provider sends it, to make it again elsewhere: as JSON, or as a command. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readToEnd } from "node:stream/consumers";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { quoted } from "../doctor/command/text.js";
import { reasonOf } from "../doctor/targets/target.js";
import { callsOf, isAIMessage } from "../history/call.js";
import { readMaker } from "../providers/contract/author.js";
import type { DialectName } from "../providers/contract/dialect-name.js";
import type { ModelSource } from "../providers/contract/provider.js";
import { correctedClient, madeModel } from "../providers/response/guard-model.js";
import { PROVIDERS } from "../providers/table/providers.js";
import { parseJson, toJson } from "../shared/json.js";
import { inputOf, type ShownRequest } from "./view/request.js";

/** What was caught of a request. The address and the headers are words for a shell, with variables for what is secret. */
export interface WireRequest {
  readonly body: unknown;
  readonly address: string;
  /** Those that a provider reads. */
  readonly headers: readonly string[];
}

/** Stands for the key until it is replaced by a variable. */
const KEY = "tether-key-of-the-provider";

/** Headers that say something about the client or the connection only. */
const OF_CLIENT =
  /^(?:host|connection|content-length|transfer-encoding|user-agent|accept.*|sec-.*|x-stainless-.*|x-goog-api-client|openai-.*|anthropic-dangerous-.*)$/;

/**
 * Contract: nothing leaves this machine. The client is given the address of a server that catches one request and
 * refuses it.
 *
 * The tools of an agent are not stored: those that the messages call are named, without their parameters.
 *
 * @returns A sentence that says why there is none: the client cannot be given an address, is not installed, or does not
 * send such messages.
 */
export async function wireRequest(request: ShownRequest): Promise<WireRequest | string> {
  const { form, history } = request;
  const { dialect } = form.options;
  const source = sourceOf(dialect);
  if (source === undefined)
    return `The client of \`${dialect}\` cannot show its request. Choose another provider with \`dialect\`.`;
  const latest = form.origin === "chosen" ? undefined : history.findLast(isAIMessage);
  const model = form.options.modelId ?? (latest && readMaker(latest).model) ?? "MODEL";
  const caught: WireRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const body = parseJson(await readToEnd(incoming));
    // What is not ours is quoted: the name of a model, which a message brings, is part of some addresses.
    const word = (text: string) =>
      text
        .split(KEY)
        .map((part) => (part === "" ? "" : quoted(part)))
        .join(`"$${source.keys?.[0]}"`);
    caught.push({
      body,
      address: `"$${source.baseURL}"${word(incoming.url ?? "")}`,
      headers: Object.entries(incoming.headers)
        .filter(([name, value]) => value !== "" && !OF_CLIENT.test(name))
        .map(([name, value]) => word(`${name}: ${value}`)),
    });
    outgoing.writeHead(400, { "content-type": "application/json" }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const baseURL = `http://127.0.0.1:${port}`;
    const made = await source.create({ model, apiKey: KEY, baseURL, maxRetries: 0 });
    const client = (await madeModel(made, {})) as BaseChatModel;
    const input = [...inputOf(request)];
    // Not `invoke`, which would show the request to whoever traces this process.
    const asking = (request.isMade ? correctedClient(client) : client)._generate(
      input,
      toolsOf(client, input),
    );
    const refused: unknown = await asking.catch((error: unknown) => error);
    return caught[0] ?? `The client does not send these messages: ${reasonOf(refused)}`;
  } catch (error) {
    return `The client could not be loaded: ${reasonOf(error)}`;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** These are not sent in the form of OpenAI's chat completions, as those of most hosts are. */
const OTHER_FORMS: ReadonlySet<DialectName> = new Set([
  "bedrock",
  "openai-responses",
  "responses-compatible",
]);

function sourceOf(dialect: DialectName): ModelSource | undefined {
  const sources = PROVIDERS.flatMap(({ models = {} }) => Object.values(models));
  const own = sources.find((one) => one.dialect === dialect && one.baseURL !== undefined);
  return own ?? (OTHER_FORMS.has(dialect) ? undefined : sources[0]);
}

/** The options of a request with the tools that the messages call. */
function toolsOf(model: BaseChatModel, messages: readonly BaseMessage[]): object {
  const names = new Set(messages.flatMap(callsOf).map(({ name }) => name));
  const tools = [...names].map((name) => ({
    type: "function" as const,
    function: { name, description: "", parameters: { type: "object", properties: {} } },
  }));
  if (tools.length === 0 || model.bindTools === undefined) return {};
  const { config, kwargs, defaultOptions } = Object(model.bindTools(tools));
  return { ...kwargs, ...config, ...defaultOptions };
}

/** The request as a command for a shell. Its body is as it is, whatever is in it. */
export function curlCommand({ body, address, headers }: WireRequest): string {
  const parts = [`curl ${address}`, ...headers.map((header) => `-H ${header}`), "--data-binary @- <<'JSON'"];
  return `${parts.join(" \\\n  ")}\n${toJson(body, undefined, 2)}\nJSON\n`;
}
