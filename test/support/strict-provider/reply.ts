/** The response that a test chooses for a strict provider, for all protocols. */

export interface SentMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly unknown[];
}

export interface Reply {
  readonly text?: string;
  /** The tool calls. The provider makes their ids. */
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  readonly reasoning?: string;
  /** The finish reason, in OpenAI's words. @default `stop`, or `tool_calls` if there are tool calls */
  readonly finish?: string;
  /** Changes the events of a stream. */
  readonly broken?: (events: readonly string[]) => readonly string[];
  /** The body for a request that does not stream, in place of this response. A string is sent as it is. */
  readonly body?: object | string;
}

export interface Asked {
  readonly model: string;
  /** In OpenAI's form, converted from any protocol. */
  readonly messages: readonly SentMessage[];
  readonly streams: boolean;
}

export type Respond = (asked: Asked) => Reply;
