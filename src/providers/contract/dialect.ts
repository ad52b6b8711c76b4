/** What a provider and its LangChain client take of a message: calls, blocks, state, pictures and files. */

import type { AIMessage, MessageContent } from "@langchain/core/messages";
import type { StatedRules } from "./rule.js";

/** Where in a message a provider's LangChain client finds the tool calls that it sends. */
export type CallPlace =
  /** `tool_calls`. No client sends the entries of `invalid_tool_calls`. */
  | "listed"
  /** `additional_kwargs.tool_calls`, and only if `tool_calls` is empty. */
  | "raw"
  /** `tool_use` blocks of the content that are not listed. */
  | "block"
  /** Items of the stored response, `response_metadata.output`, which are sent instead of the message. */
  | "output";

/** The form that most providers demand of names. */
export const PLAIN_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** What most dialects have in common. */
export const COMMON = {
  toolName: PLAIN_NAME,
  blank: /^\s*$/,
  owns: () => false,
  ignoredBlocks: [],
  stateFields: [],
  hasHostFields: false,
  media: { takes: () => false, write: () => undefined } as MediaForm,
} as const;

/** Where a provider takes system messages, if not anywhere. */
export interface SystemPlaces {
  /** Whether there can be several. */
  readonly several: boolean;
  /** The message types directly after which one can be, if it is not in front. */
  readonly after: readonly ("system" | "human" | "ai" | "tool")[];
  /** The message types directly before which one can be, if it is not in front. Undefined: all. */
  readonly before?: readonly ("system" | "human" | "ai" | "tool")[];
  /** Whether one can be the last message. */
  readonly last: boolean;
  /** The names of models that take one after another message. Undefined: all. */
  readonly models?: RegExp;
}

/** A field that only its author model can read and that its client sends, such as stored items and their ids. */
export interface StateField {
  readonly place: "additional_kwargs" | "response_metadata";
  readonly name: string;
}

export function isOf(...types: readonly unknown[]): (block: Fields) => boolean {
  return ({ type }) => types.includes(type);
}

export interface Dialect {
  readonly rules: StatedRules;
  readonly callPlaces: readonly CallPlace[];
  readonly callId: RegExp;
  readonly toolName: RegExp;
  /** The texts that say nothing to the provider. */
  readonly blank: RegExp;
  /**
   * Whether a block has a form that the provider made, or that its client knows. Other providers get a text in place of
   * it. A block that no provider made is sent as it is.
   */
  readonly owns: (block: Fields) => boolean;
  /** Whether it takes no state of any model, and a text replaces also blocks that nobody knows. @default false */
  readonly isClosed?: boolean;
  /** Foreign blocks of assistant content that the client silently leaves out. `"all"`: every one. */
  readonly ignoredBlocks: readonly string[] | "all";
  /** Blocks of results that the client silently leaves out. @default none */
  readonly ignoredResults?: readonly string[];
  /** Calls and results of provider-run tools that the client sends back. Undefined: all. */
  readonly sentServerBlocks?: readonly string[];
  /** Of these, the types that other providers also have. They are sent only if the message names its maker. */
  readonly sharedBlocks?: readonly string[];
  /** Where its client finds state beside the content. */
  readonly stateFields: readonly StateField[];
  /** Whether messages keep the fields that their host wants back: see `host-fields`. */
  readonly hasHostFields: boolean;
  /** Fields of a text block that the provider is known to refuse. @default none */
  readonly refusedFields?: readonly string[];
  /** Other roles than the common four that are taken if the rule `role` applies. @default none */
  readonly otherRoles?: RegExp;
  /** Where system messages are taken if the rule `system-position` applies. @default one, in front */
  readonly systemPlaces?: SystemPlaces;
  /** Types of messages whose content can be a list of blocks. */
  readonly blocksIn: readonly ("human" | "ai" | "tool")[];
  /** The form of a user's images and files. A text description replaces blocks other than these and text. */
  readonly media: MediaForm;
  /** Whether the provider itself has compacted the conversation up to this message: it reads nothing before it. */
  readonly isCompacted?: (message: AIMessage) => boolean;
  /** `response_metadata.model_provider` of messages that models of this dialect write. */
  readonly makers: readonly string[];
  /** What the provider accepts of pictures. Undefined: nothing is known. */
  readonly mediaLimits?: MediaLimits;
  /** How many calls a message may have, and how many messages and cache marks a request. Undefined: any number. */
  readonly most?: Readonly<Partial<Record<"calls" | "messages" | "marks", number>>>;
}

/*
 * Images, sounds and files, as a dialect's client takes them.
 */

export type Fields = Readonly<Record<string, unknown>>;

export type Block = Exclude<MessageContent, string>[number];

export type MediaKind = "image" | "audio" | "video" | "file";

/** Where the bytes are: in `data`, at `url`, or with a provider under its own `id`. */
export interface Source {
  /** Base64. */
  readonly data?: string | undefined;
  /** With `data`, the data URL. */
  readonly url?: string | undefined;
  readonly id?: string | undefined;
  /** Known if there is `data`. */
  readonly mimeType?: string | undefined;
}

export interface Media extends Source {
  readonly kind: MediaKind;
  readonly name: string | undefined;
}

/** How a client accepts a user's images, sounds and files. */
export interface MediaForm {
  /** The block in LangChain's standard form, if LangChain does not convert it itself. */
  readonly read?: (block: Fields) => Fields | undefined;
  /** Whether a block can be sent unchanged. Text always can. */
  readonly takes: (block: Fields) => boolean;
  /** Undefined for media that the provider does not accept. A text description replaces them. */
  readonly write: (media: Media) => Block | undefined;
  /** The form in results. Undefined: a result holds only texts, so a user message after it has its pictures and files. */
  readonly results?: MediaForm;
  /** The form in the target model's own responses. Undefined: these hold only texts and the dialect's own blocks. */
  readonly responses?: MediaForm;
  /** The fields of a block that stay in this form. */
  readonly keeps?: readonly string[];
  /** The block of a text beside them. @default a block of the type `text` */
  readonly writeText?: (text: string) => Block;
  /** The addresses that the provider opens. @default those of the web */
  readonly opens?: RegExp;
}

/** What a provider counts, and refuses more of. */
export type Counted = "pictures" | "calls" | "messages" | "marks";

/** A dialect's limits. Undefined ones are unknown, and left to the provider. */
export interface MediaLimits {
  /** The types of pictures that the provider reads. */
  readonly types?: readonly string[];
  /** How many characters a picture may have in base64. */
  readonly mostCharacters?: number;
  /** How many pixels the longer side of a picture may have. */
  readonly mostPixels?: number;
  /** How many pixels the shorter side of a picture must have. */
  readonly leastPixels?: number;
  /** How many pictures a request may have. */
  readonly mostPictures?: number;
  /** The longer side's limit in a request with more pictures than `count`. */
  readonly manyPictures?: { readonly count: number; readonly mostPixels: number };
}
