import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { isRecord } from "../../shared/values.js";
import { hostnameOf, isThisMachine } from "../access/this-machine.js";

/** A proxy sets one of these. Its own address says nothing about the client. */
const PROXY_HEADER = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|(?:[a-z]+-)*(?:client|connecting)-ip)$/;

/**
 * Refuses what does not come from a program of this machine, for a server without access control. Such a server may
 * listen for everybody (`OPEN_ACCESS`), and a page that reads all threads is not a part of that.
 *
 * The connection must come from this machine. The request must name it too: a page of another site can let its own name
 * point here (DNS rebinding), and the browser then sends that name. A page of another site that asks for this machine by
 * its name says so in `Origin`, and the server would let it read the answer.
 */
export const admitThisMachine: MiddlewareHandler = async ({ req, env }, next) => {
  const host = req.header("host");
  const hostname = host === undefined ? undefined : hostnameOf(`http://${host}`);
  const origin = req.header("origin");
  const isLocal =
    isLoopback(remoteAddressOf(env)) &&
    isOurs(hostname) &&
    (origin === undefined || isOurs(hostnameOf(origin))) &&
    ![...req.raw.headers.keys()].some((name) => PROXY_HEADER.test(name));
  if (!isLocal)
    throw new HTTPException(403, {
      message:
        "This server has no access control, so the inspector answers programs of this machine only. Open it as http://localhost, or set `AUTH_API_KEYS`.",
    });
  await next();
};

const isOurs = (hostname: string | undefined): boolean => hostname !== undefined && isThisMachine(hostname);

/** The address of the other end, as Hono's server for Node tells it. Undefined where another server runs the app. */
function remoteAddressOf(env: unknown): string | undefined {
  const incoming = isRecord(env) ? env["incoming"] : undefined;
  const socket = isRecord(incoming) ? incoming["socket"] : undefined;
  const address = isRecord(socket) ? socket["remoteAddress"] : undefined;
  return typeof address === "string" ? address : undefined;
}

function isLoopback(address: string | undefined): boolean {
  return address === "::1" || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(address ?? "");
}
