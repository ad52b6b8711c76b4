/** What a strict provider is told to answer, whatever its protocol. */

export interface SentMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly unknown[];
}

export interface Reply {
  readonly text?: string;
  /** Their ids are the provider's own. */
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  readonly reasoning?: string;
  /** In OpenAI's words. @default `stop`, or `tool_calls` if there are some */
  readonly finish?: string;
  /** Changes the events of a stream. */
  readonly broken?: (events: readonly string[]) => readonly string[];
  /** What is sent where the request does not stream, instead of a body with this reply. A string goes as it is. */
  readonly body?: object | string;
}

export interface Asked {
  readonly model: string;
  /** In OpenAI's words, from whatever protocol. */
  readonly messages: readonly SentMessage[];
  readonly streams: boolean;
}

export type Respond = (asked: Asked) => Reply;
