/** Where a request differs from what the client sends alone, as `docs/providers.md` lists it. */

import { EXCEPTIONS, type Exception } from "../../test/wire/unchanged/exceptions.js";

const HEAD = ["| client | what is sent | why |", "| --- | --- | --- |"];

export const exceptionsTable = (): string => [...HEAD, ...EXCEPTIONS.map(rowOf)].join("\n");

function rowOf({ clients = ["all clients"], what, why, source }: Exception): string {
  const reason = source === undefined ? why : `${why} ([source](https://github.com/${source}))`;
  return `| ${[clients.map(codeOf).join(", "), what, reason].join(" | ")} |`;
}

/** The name of the class as code: "`ChatOpenAI` at Kimi's host". */
const codeOf = (client: string) => client.replace(/^Chat\w+|^\w+Chat\w+/, "`$&`");
