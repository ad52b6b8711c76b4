/**
 * The settings of the server around the graph: who may use it. They are read from the environment only.
 */

import { z } from "zod/v4";
import { namesThisMachine } from "../../src/inspector/this-machine.js";
import { flag, type Rule, readNames, readVariable, text } from "../../src/shared/check-settings.js";

export type Environment = Readonly<Record<string, string | undefined>>;

interface ServerSetting extends Rule {
  /** What the variable does, in plain sentences. The last one states the default. */
  readonly help: string;
}

/** An origin is compared with a part of a URL. Another form would never be equal to it. */
const origins = {
  read: readNames,
  schema: z
    .array(z.string().refine((name) => URL.canParse(name) && new URL(name).origin === name))
    .readonly(),
  expects: "origins such as `https://chat.example.com`, separated by commas",
} as const;
export const HTTP_URL = { schema: z.url({ protocol: /^https?$/ }), expects: "an http(s) URL" };

/** One row for each variable, in the order of server/README.md. */
export const SERVER_SETTINGS = {
  AUTH_API_KEYS: {
    ...text,
    help: "The API keys that clients may use, as `user:sha256-…`, separated by commas. `npm run api-key -- USER` makes a key and its entry. A user can have several keys. Default: none.",
  },
  AUTH_JWT_ISSUER: {
    ...text,
    help: "The issuer (`iss`) that a token must have. With any variable of `AUTH_JWT_`, clients may use tokens, and the issuer, the audience and one source of keys must be set. Default: none.",
  },
  AUTH_JWT_AUDIENCE: { ...text, help: "The audience (`aud`) that a token must have. Default: none." },
  AUTH_JWT_JWKS_URL: {
    // Keys fetched over plain HTTP could come from somebody on the way.
    schema: z.url().refine((url) => url.startsWith("https:") || namesThisMachine(url)),
    expects: "an https URL, or one of this machine",
    help: "The address of the issuer's public keys (JWKS): an https URL, or one of this machine. Default: none.",
  },
  AUTH_JWT_KEY: {
    ...text,
    help: "The key of tokens instead of `AUTH_JWT_JWKS_URL`: a public key in PEM form, in which `\\n` may stand for a line break, or a secret of at least 32 bytes for `HS256`. Default: none.",
  },
  AUTH_JWT_USER_CLAIM: { ...text, help: "The claim of a token that names its user. Default: `sub`." },
  AUTH_STUDIO: {
    ...flag,
    help: "Whether a server with users lets LangGraph Studio connect as the user `langgraph-studio-user`, if `disable_studio_auth` in `langgraph.json` is false. Outside LangGraph Platform nothing checks that a client is Studio. Default: false.",
  },
  OPEN_ACCESS: {
    ...flag,
    help: "Whether a server without keys and tokens may listen on other addresses than those of this machine. Everybody who reaches it can then read and change everything. Default: false.",
  },
  ALLOWED_ORIGINS: {
    ...origins,
    help: "The web pages that may use a server without keys and tokens, such as `https://chat.example.com`, besides pages of this machine and LangGraph Studio. Default: none.",
  },
  ALLOWED_WEBHOOKS: {
    ...origins,
    help: "The origins that the `webhook` of a run may name, such as `https://hooks.example.com`. Other webhooks are refused. Default: none.",
  },
} as const satisfies Readonly<Record<string, ServerSetting>>;

type Table = typeof SERVER_SETTINGS;

export type ServerSettings = {
  readonly [Name in keyof Table]: z.output<Table[Name]["schema"]> | undefined;
};

/**
 * Reads the settings from environment variables. An empty variable counts as not set.
 *
 * @throws InvalidSettingError for the first variable with an invalid value. The error names the variable.
 */
export function readServerSettings(environment: Environment): ServerSettings {
  const rows = Object.entries<ServerSetting>(SERVER_SETTINGS);
  const read = rows.map(([name, row]) => [name, readVariable(environment, name, row)]);
  return Object.fromEntries(read) as ServerSettings;
}
