/** The addresses of the pages. */

const HOME = "/tether";

/** What the page of a thread shows. Fields that are missing have their default. */
export interface ThreadLink {
  readonly step?: string | undefined;
  readonly dialect?: string | undefined;
  readonly maxTokens?: number | undefined;
  readonly page?: number | undefined;
}

export interface ListLink {
  readonly q?: string | undefined;
  readonly status?: string | undefined;
  readonly page?: number | undefined;
}

export const listLink = (query: ListLink = {}): string => `${HOME}${queryText(query)}`;
export const listJsonLink = (query: ListLink = {}): string => `${HOME}.json${queryText(query)}`;

export const threadLink = (threadId: string, query: ThreadLink = {}): string =>
  `${HOME}/threads/${encodeURIComponent(threadId)}${queryText(query)}`;
export const threadJsonLink = (threadId: string, query: ThreadLink = {}): string =>
  `${HOME}/threads/${encodeURIComponent(threadId)}.json${queryText(query)}`;

function queryText(query: Readonly<Record<string, string | number | undefined>> | ThreadLink | ListLink): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}
