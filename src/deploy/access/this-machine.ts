/** Names and addresses that only programs of this machine can reach. */

/** @param hostname As a URL has it: an IPv6 address stands in brackets. */
export function isThisMachine(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

/** The host of a `Host` header or of the address of a web page; undefined for a text that has none. */
export function hostnameOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

/**
 * Whether the server listens for this machine only. LangGraph's development server says so in `LANGGRAPH_API_URL`.
 * Other servers say nothing, and they listen for everybody.
 */
export function listensToThisMachine(environment: Readonly<Record<string, string | undefined>>): boolean {
  const hostname = hostnameOf(environment["LANGGRAPH_API_URL"] ?? "");
  return hostname !== undefined && isThisMachine(hostname);
}
