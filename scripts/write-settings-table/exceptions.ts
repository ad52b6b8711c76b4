/** Where a request differs from what the client sends alone, as `docs/providers.md` lists it. */

import {
  EXCEPTIONS,
  type Exception,
  HOSTS_WITH_OPENAI_PROTOCOL,
} from "../../test/wire/unchanged/exceptions.js";

export function exceptionsTable(): string {
  const whats = new Set(EXCEPTIONS.map(({ what }) => what));
  return [
    `The name of a host means \`ChatOpenAI\` there. *All hosts* are ${HOSTS_WITH_OPENAI_PROTOCOL.map(codeOf).join(", ")}.`,
    "",
    "| client | what is sent | why |",
    "| --- | --- | --- |",
    ...[...whats].map(rowOf),
  ].join("\n");
}

function rowOf(what: string): string {
  const exceptions = EXCEPTIONS.filter((exception) => exception.what === what);
  return `| ${[clientsOf(exceptions), what, exceptions.map(reasonOf).join(" ")].join(" | ")} |`;
}

function clientsOf(exceptions: readonly Exception[]): string {
  if (exceptions.some(({ clients }) => clients === undefined)) return "all clients";
  const named = new Set(exceptions.flatMap(({ clients = [] }) => clients));
  const isEveryHost = HOSTS_WITH_OPENAI_PROTOCOL.every((host) => named.has(host));
  const others = [...named].filter((client) => !isEveryHost || !HOSTS_WITH_OPENAI_PROTOCOL.includes(client));
  return [...(isEveryHost ? ["*all hosts*"] : []), ...others.map(codeOf)].join(", ");
}

const reasonOf = ({ why, source }: Exception): string =>
  source === undefined ? why : `${why} ([source](https://github.com/${source}))`;

/** The name of the class as code, or the host of a `ChatOpenAI`. */
const codeOf = (client: string) =>
  client.replace(/^ChatOpenAI at /, "").replace(/^Chat\w+|^\w+Chat\w+/, "`$&`");
