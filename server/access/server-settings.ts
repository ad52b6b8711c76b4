/**
 * The settings of the server around the graph: who may use it, and how much. They are read from the environment only.
 */

import { z } from "zod/v4";
import {
  countFrom,
  flag,
  type Rule,
  readNames,
  readVariable,
  text,
} from "../../src/shared/check-settings.js";

interface ServerSetting extends Rule {
  /** What the variable does, in plain sentences. The last one states the default. */
  readonly help: string;
  readonly default?: unknown;
}

const names = {
  schema: z.array(z.string()).readonly(),
  expects: "names separated by commas",
  read: readNames,
} as const;

/** Names that a part of a URL is compared with. Another form would never be equal to it. */
const partsOfUrls = (expects: string, partOf: (name: string) => string | undefined) => ({
  ...names,
  schema: z.array(z.string().refine((name) => partOf(name) === name)).readonly(),
  expects: `${expects}, separated by commas`,
  hint: (given: unknown) => {
    const wrong = Array.isArray(given) ? given.find((name) => partOf(name) !== name) : undefined;
    const meant = wrong === undefined ? undefined : partOf(wrong);
    return meant === undefined ? "" : ` Did you mean \`${meant}\`?`;
  },
});
const origins = partsOfUrls("origins such as `https://chat.example.com`", (name) => {
  const origin = URL.canParse(name) ? new URL(name).origin : "null";
  return origin === "null" ? undefined : origin;
});
const hosts = partsOfUrls("hosts such as `hooks.example.com`", (name) => {
  const address = /^https?:/i.test(name) ? name : `https://${name}`;
  return URL.canParse(address) ? new URL(address).host : undefined;
});
export const HTTP_URL = {
  schema: z.url({ protocol: /^https?$/ }),
  expects: "an http(s) URL",
};

/** The algorithms that a token can be signed with. `none` is not one of them. */
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA HS256 HS384 HS512".split(" ");

/** One row for each variable, in the order of docs/settings.md. */
export const SERVER_SETTINGS = {
  AUTH_API_KEYS: {
    ...text,
    help: "The API keys that clients may use, as `user:sha256-…`, separated by commas. `npm run api-key -- USER` makes a key and its entry. A user can have several keys. Default: none.",
  },
  AUTH_API_KEYS_FILE: {
    ...text,
    help: "A file with such entries, one a line. Lines that begin with `#` are comments. It is read when the server starts. Default: none.",
  },
  AUTH_JWT_ISSUER: {
    ...text,
    help: "The issuer (`iss`) that a token must have. With any variable of `AUTH_JWT_`, clients may use tokens, and the issuer, the audience, the algorithm and one source of keys must be set. Default: none.",
  },
  AUTH_JWT_AUDIENCE: {
    ...text,
    help: "The audience (`aud`) that a token must have. Default: none.",
  },
  AUTH_JWT_ALGORITHM: {
    schema: z.enum(ALGORITHMS),
    expects: `one of ${ALGORITHMS.join(", ")}`,
    help: "The one algorithm that tokens are signed with, such as `RS256` or `HS256`. Default: none.",
  },
  AUTH_JWT_JWKS_URL: {
    ...HTTP_URL,
    help: "The address of the issuer's public keys (JWKS). Default: none.",
  },
  AUTH_JWT_KEY: {
    ...text,
    help: "The key of tokens instead of `AUTH_JWT_JWKS_URL`: a public key in PEM form, or for `HS256`, `HS384` and `HS512` a secret of at least 32, 48 or 64 bytes. `\\n` in it is a line break. Default: none.",
  },
  AUTH_JWT_USER_CLAIM: {
    ...text,
    help: "The claim of a token that names its user. Default: `sub`.",
    default: "sub",
  },
  AUTH_STUDIO: {
    ...flag,
    help: "Whether LangGraph Studio may connect as the user `langgraph-studio-user`, if `disable_studio_auth` in `langgraph.json` is false. Outside LangGraph Platform nothing checks that a client is Studio. Default: false.",
    default: false,
  },
  OPEN_ACCESS: {
    ...flag,
    help: "Whether a server without keys and tokens may listen on other addresses than those of this machine. Everybody who reaches it can then read and change everything. Default: false.",
    default: false,
  },
  ALLOWED_ORIGINS: {
    ...origins,
    help: "The web pages that may use a server without keys and tokens, such as `https://chat.example.com`, besides pages of this machine and LangGraph Studio. Default: none.",
    default: [],
  },
  ALLOWED_WEBHOOKS: {
    ...hosts,
    help: "The hosts that the `webhook` of a run may name, such as `hooks.example.com`. Other webhooks are refused. Default: none.",
    default: [],
  },
  ALLOWED_TOOLS: {
    ...names,
    help: "The tools of the served graph that the model gets, by name. Default: all.",
  },
  MAX_REQUEST_BYTES: {
    ...countFrom(1),
    help: "How many bytes the body of a request may have. A larger one is refused with status 413. Default: 20,000,000.",
    default: 20_000_000,
  },
  MAX_RUNS_PER_USER: {
    ...countFrom(1),
    help: "How many runs a user may have at once, waiting ones included. One more is refused with status 429. Without keys and tokens all clients are one user. Default: no limit.",
  },
} as const satisfies Readonly<Record<string, ServerSetting>>;

type Table = typeof SERVER_SETTINGS;

/** The settings with their defaults. */
export type ServerSettings = {
  readonly [Name in keyof Table]: Table[Name] extends { readonly default: unknown }
    ? z.output<Table[Name]["schema"]>
    : z.output<Table[Name]["schema"]> | undefined;
};

/**
 * Reads the settings from environment variables. An empty variable counts as not set.
 *
 * @throws InvalidSettingError for the first variable with an invalid value. The error names the variable.
 */
export function readServerSettings(
  environment: Readonly<Record<string, string | undefined>>,
): ServerSettings {
  const rows = Object.entries<ServerSetting>(SERVER_SETTINGS);
  return Object.fromEntries(
    rows.map(([name, row]) => [name, readVariable(environment, name, row) ?? row.default]),
  ) as ServerSettings;
}
