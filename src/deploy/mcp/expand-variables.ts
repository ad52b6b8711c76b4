/** Replaces `${NAME}` in the texts of a value, so that a file does not need to hold keys. */

import { isRecord } from "../../shared/values.js";

export type Variables = Readonly<Record<string, string | undefined>>;

interface MissingVariable {
  readonly name: string;
  /** The place of the text, such as `mcpServers.github.headers.Authorization`. */
  readonly place: string;
}

const REFERENCE = /\$\{(\w+)(?::-([^}]*))?\}/g;

/**
 * @param place The place of the value.
 * @param refuse Makes the error for a variable that is not set and has no default.
 */
export function expandVariables(
  value: unknown,
  variables: Variables,
  place: string,
  refuse: (missing: MissingVariable) => Error,
): unknown {
  const inside = (item: unknown, name: string | number) =>
    expandVariables(item, variables, `${place}.${name}`, refuse);
  if (Array.isArray(value)) return value.map(inside);
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inside(item, name)]));
  if (typeof value !== "string") return value;
  return value.replaceAll(REFERENCE, (_, name: string, otherwise: string | undefined) => {
    const text = variables[name] || otherwise;
    if (text === undefined) throw refuse({ name, place });
    return text;
  });
}
