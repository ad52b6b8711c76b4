import { isRecord } from "../../shared/is-record.js";
import { innermost } from "../dialects/dialect-of.js";

/** Fields in which clients keep their address. `_defaultConfig` is a field of `initChatModel`. */
const HOLDERS = ["clientConfig", "_defaultConfig"] as const;
const NAMES = ["baseURL", "baseUrl", "anthropicApiUrl", "apiUrl", "serverURL", "endpoint"] as const;

/**
 * The address of a model, without credentials. Undefined for the provider's default address, which the client keeps.
 */
export function addressOf(model: object): string | undefined {
  const client = innermost(model);
  for (const holder of [...HOLDERS.map((name): unknown => Reflect.get(client, name)), client]) {
    if (!isRecord(holder)) continue;
    for (const name of NAMES) {
      const address = withoutCredentials(holder[name]);
      if (address !== undefined) return address;
    }
  }
  return undefined;
}

/** The credentials are in the part before the host, and in the query. */
function withoutCredentials(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  const { origin, pathname, protocol } = new URL(value);
  return /^https?:$/.test(protocol) ? `${origin}${pathname.replace(/\/$/, "")}` : undefined;
}
