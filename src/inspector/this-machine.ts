/** Who may read the threads of a server without access control: programs on this machine. */

import { refusal } from "./view/refusal.js";

/** A proxy sets one of these. Its own address says nothing about the client. */
const PROXY_HEADER = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|(?:[a-z]+-)*(?:client|connecting)-ip)$/;

/**
 * Refuses what does not come from a program on this machine, for a server without access control. Such a server may
 * listen for everybody (`OPEN_ACCESS`), but that does not include a page that reads all threads.
 *
 * The connection must come from this machine. The request must also name it: another site's page can let its own name
 * point here (DNS rebinding), and the browser then sends that name. If another site's page asks for this machine by its
 * name, `Origin` says so, and the server would let it read the answer.
 *
 * @throws Error with the `status` 403.
 */
export function admitThisMachine({ headers }: Pick<Request, "headers">, env: unknown): void {
  const host = headers.get("host");
  const origin = headers.get("origin");
  const isLocal =
    isLoopback(remoteAddressOf(env)) &&
    host !== null &&
    namesThisMachine(`http://${host}`) &&
    (origin === null || namesThisMachine(origin)) &&
    ![...headers.keys()].some((name) => PROXY_HEADER.test(name));
  if (!isLocal)
    throw refusal(
      403,
      "This server has no access control, so the inspector answers programs of this machine only. Open it as http://localhost, or set `AUTH_API_KEYS`.",
    );
}

/** Whether a server's or a web page's address names this machine. */
export function namesThisMachine(address: string): boolean {
  const hostname = URL.canParse(address) ? new URL(address).hostname : "";
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

/** The other end's address, as Hono's server for Node tells it. Undefined if another server runs the handler. */
function remoteAddressOf(env: unknown): string | undefined {
  const address: unknown = Object(Object(Object(env).incoming).socket).remoteAddress;
  return typeof address === "string" ? address : undefined;
}

function isLoopback(address: string | undefined): boolean {
  return address === "::1" || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(address ?? "");
}
