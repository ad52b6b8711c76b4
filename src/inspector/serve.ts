/** Serves the inspector to one person's browser on this machine: `langgraph-tether inspect`. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { CommandIo } from "../doctor/command/command-io.js";
import type { ThreadStore } from "../doctor/thread-store.js";
import { createInspector, page } from "./handler.js";
import { HEADERS, HOME } from "./html/layout.js";
import { errorPage } from "./html/list-page.js";
import { refusal } from "./view/refusal.js";

const HOST = "127.0.0.1";

/**
 * Other users of this machine can connect to the same port, and other sites' pages can send it requests. So the key in
 * the address is exchanged for a cookie, which the browser sends only with these pages' requests. The request must also
 * name this server as its host and its origin.
 *
 * @param port 0: a free port.
 * @returns The address to open, with a key that can be used once.
 */
export async function serveInspector(
  store: ThreadStore,
  { port = 0, repairCommand }: Parameters<CommandIo["serveInspector"]>[1] = {},
): ReturnType<CommandIo["serveInspector"]> {
  const inspector = createInspector({ threads: () => store, isProtected: true, repairCommand });
  const session = randomBytes(32).toString("base64url");
  let key: string | undefined = randomBytes(32).toString("base64url");
  const server = createServer(async (incoming, outgoing) => {
    const response = await answer(incoming).catch(toPage);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(incoming.method === "HEAD" ? undefined : await response.text());
  });

  async function answer(incoming: IncomingMessage): Promise<Response> {
    const { port: own } = server.address() as AddressInfo;
    const { host = "", origin, cookie = "" } = incoming.headers;
    if (![`${HOST}:${own}`, `localhost:${own}`].includes(host)) throw refusal(403, "Another host was asked.");
    if (origin !== undefined && origin !== `http://${host}`)
      throw refusal(403, "A page of another site has asked.");
    const request = new Request(`http://${host}${incoming.url}`, { method: incoming.method ?? "GET" });
    const { pathname, searchParams } = new URL(request.url);
    // Cookies belong to a host, whatever its port.
    const name = `tether-${own}`;
    const isKey = key !== undefined && isSameSecret(searchParams.get("key") ?? "", key);
    if (isKey && pathname === "/" && request.method === "GET") {
      key = undefined;
      const given = `${name}=${session}; Path=/; HttpOnly; SameSite=Strict`;
      return new Response(null, {
        status: 303,
        headers: { ...HEADERS, location: HOME, "set-cookie": given },
      });
    }
    if (!cookie.split("; ").some((pair) => isSameSecret(pair, `${name}=${session}`)))
      throw refusal(
        401,
        "Open the address that `langgraph-tether inspect` has printed. It can be opened once: for another one, end the command with Ctrl+C and run it again.",
      );
    if (pathname === "/") return Response.redirect(new URL(HOME, request.url), 303);
    return inspector(request);
  }

  server.listen(port, HOST);
  await once(server, "listening").catch(async (error: unknown): Promise<never> => {
    // Until its next round, Node lists a server that could not listen as one that does.
    for (const _ of ["this", "next"]) await setImmediate();
    throw error;
  });
  const { port: own } = server.address() as AddressInfo;
  return {
    address: `http://${HOST}:${own}/?key=${key}`,
    // All connections end. The store stays open.
    close: async () => {
      // Node lists a closed server as active for a while, unless it does not keep the process alive.
      server.unref();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Takes a time that says nothing about either text. */
function isSameSecret(one: string, other: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(one), hash(other));
}

/** Whoever started it is told what went wrong in a store. */
function toPage(error: unknown): Response {
  const { status, message } = Object(error);
  // A LangGraph server, or a proxy before it, can answer with any status, and some cannot be used for a response.
  return status === 401 || status === 403
    ? page(errorPage("Not allowed", String(message)), status)
    : page(errorPage("The threads cannot be read", String(message)), 500);
}
