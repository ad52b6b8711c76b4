/** What a request asks for, in its address's parameters. */

import { z } from "zod/v4";
import { UUID } from "../../doctor/targets/server-target.js";
import { InvalidSettingError } from "../../errors.js";
import { countFrom, oneOf, type Rule, type Rules, readVariable, text } from "../../shared/check-settings.js";
import { listWithOr } from "../../shared/text.js";
import { dialectRule } from "../../threads/shared-settings.js";

export const THREAD_STATUSES = ["idle", "busy", "interrupted", "error"] as const;

/** What a thread can have, besides a finding by its code. */
export const TRAITS = ["findings", "errors", "open-calls", "repairs"] as const;

/** Which threads the list shows. Missing ones select everything. */
export const LIST_PARAMETERS = {
  /** A thread id, `key=value` of the metadata, or part of an id, the metadata or a message. */
  q: text,
  status: oneOf(THREAD_STATUSES),
  has: {
    schema: z.union([z.enum(TRAITS), z.string().regex(/^[a-z]+\/[a-z-]+$/)]),
    expects: `one of ${listWithOr(TRAITS)}, or the code of a finding`,
  },
  /** The graph's name in the metadata. */
  graph: text,
  /** Default: changed. */
  sort: oneOf(["changed", "created"]),
  /** From 1. */
  page: countFrom(1),
} satisfies Rules;

export type ListQuery = Query<typeof LIST_PARAMETERS>;

/** What a thread's page shows. */
export const THREAD_PARAMETERS = {
  /** The checkpoint of the step. Default: the latest. */
  step: { schema: z.string().regex(UUID), expects: "the id of a checkpoint" },
  dialect: dialectRule,
  maxTokens: countFrom(1),
  only: oneOf(["changes"]),
  /** What this library would send, whoever runs the thread. */
  with: oneOf(["tether"]),
  /** The namespace of a subgraph. Default: the thread itself. */
  ns: text,
  /** From 1. Default: the last one. */
  page: countFrom(1),
  /** A message's position, which leads to its row. */
  at: countFrom(1),
  /** A text that the messages have. */
  q: text,
  as: oneOf(["wire", "curl"]),
} satisfies Rules;

export type ThreadQuery = Query<typeof THREAD_PARAMETERS>;

type Query<Table extends Rules> = {
  readonly [Name in keyof Table]?: z.output<Table[Name]["schema"]> | undefined;
};

/** The most characters that are looked for, or quoted. */
export const LONGEST_QUERY = 200;

/** @throws InvalidSettingError for a parameter that is unknown, repeated or invalid. It names the parameter. */
export function readQuery<Table extends Rules>(query: URLSearchParams, table: Table): Query<Table> {
  for (const name of new Set(query.keys())) {
    const { length } = query.getAll(name);
    if (!Object.hasOwn(table, name))
      throw new InvalidSettingError(
        name,
        `Expected only the parameters ${listWithOr(Object.keys(table))}, got \`${name.slice(0, LONGEST_QUERY)}\`.`,
      );
    if (length > 1) throw new InvalidSettingError(name, `Expected \`${name}\` once, got it ${length} times.`);
  }
  const given = Object.fromEntries(query);
  const read = Object.entries<Rule>(table).map(([name, rule]) => [name, readVariable(given, name, rule)]);
  return Object.fromEntries(read) as Query<Table>;
}
