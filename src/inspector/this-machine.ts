/** Who may read the threads of a server without access control: programs of this machine. */

/** An error that the inspector answers with this status. */
export function refusal(status: number, message = ""): Error {
  return Object.assign(new Error(message), { status });
}

/** A proxy sets one of these. Its own address says nothing about the client. */
const PROXY_HEADER = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|(?:[a-z]+-)*(?:client|connecting)-ip)$/;

/**
 * Refuses what does not come from a program of this machine, for a server without access control. Such a server may
 * listen for everybody (`OPEN_ACCESS`), and a page that reads all threads is not a part of that.
 *
 * The connection must come from this machine. The request must name it too: a page of another site can let its own name
 * point here (DNS rebinding), and the browser then sends that name. A page of another site that asks for this machine by
 * its name says so in `Origin`, and the server would let it read the answer.
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

/** Whether the address of a server or of a web page names this machine. */
export function namesThisMachine(address: string): boolean {
  const hostname = URL.canParse(address) ? new URL(address).hostname : "";
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

/** The address of the other end, as Hono's server for Node tells it. Undefined where another server runs the handler. */
function remoteAddressOf(env: unknown): string | undefined {
  const address: unknown = Object(Object(Object(env).incoming).socket).remoteAddress;
  return typeof address === "string" ? address : undefined;
}

function isLoopback(address: string | undefined): boolean {
  return address === "::1" || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(address ?? "");
}
