/** The addresses of the pages. */

const HOME = "/tether";

/** What the page of a thread shows. Fields that are missing have their default. */
export interface ThreadLink {
  readonly step?: string | undefined;
  readonly dialect?: string | undefined;
  readonly maxTokens?: number | undefined;
  readonly page?: number | undefined;
}

interface ListLink {
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

function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}
