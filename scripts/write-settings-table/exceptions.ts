/** Where a request differs from what the client sends alone, as `docs/providers.md` lists it. */

import {
  EXCEPTIONS,
  type Exception,
  HOSTS_WITH_OPENAI_PROTOCOL,
} from "../../test/wire/unchanged/exceptions.js";

export function exceptionsTable(): string {
  const whats = [...new Set(EXCEPTIONS.map(({ what }) => what))];
  const rows = whats.map((what) => EXCEPTIONS.filter((exception) => exception.what === what));
  const isGarbled = (row: readonly Exception[]) => row.every(({ kind }) => kind === "client");
  return [
    `The name of a host means \`ChatOpenAI\` there. *All hosts* are ${HOSTS_WITH_OPENAI_PROTOCOL.map(codeOf).join(", ")}.`,
    "",
    "| client | what is sent | why |",
    "| --- | --- | --- |",
    ...rows.filter((row) => !isGarbled(row)).map((row) => rowOf(row, row.map(reasonOf).join(" "))),
    "",
    "These clients leave out what the thread has, or send it in a form that the provider does not know:",
    "",
    "| client | what is sent |",
    "| --- | --- |",
    ...rows.filter(isGarbled).map((row) => rowOf(row)),
  ].join("\n");
}

const rowOf = (row: readonly Exception[], ...reasons: string[]): string =>
  `| ${[clientsOf(row), row[0]?.what, ...reasons].join(" | ")} |`;

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
