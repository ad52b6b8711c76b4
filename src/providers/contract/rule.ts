/** Rules that a provider applies to a history, and how well we know them. */

import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { createFollowing, type Follower } from "../../history/follow-list.js";
import { MARKS, withMarks } from "../../history/marks.js";
import type { InputOverhead } from "../../history/measure.js";
import { defined, textIn } from "../../shared/values.js";

/** The histories that break each rule. The providers' rooms say which dialect has a rule, and in which words. */
const MEANINGS = {
  pairing: {
    "missing-result": "A tool call has no result directly after its message.",
    "orphan-result": "A result does not belong to a call of the message before it.",
    "duplicate-result": "A call has two results.",
    "result-order": "The results are not in call order.",
    "duplicate-call-id": "Two calls of one response have the same id.",
    "repeated-call-id": "A call has the id of a call of an earlier response.",
  },
  order: {
    "empty-history": "There are no messages except system messages.",
    "text-after-call": "Within one message, text follows a call.",
    "system-position": "A system message stands where the provider takes none.",
    "first-user": "The first message after the system message is not the user's.",
    "assistant-last": "The last message is the assistant's.",
    "user-after-tool": "A user message follows a result.",
    alternation: "Two messages of the same role follow one another.",
    "call-position": "A message with calls follows an assistant message.",
  },
  content: {
    "call-id": "The id of a call or of its result has the wrong form.",
    "server-call-without-result":
      "A call of a tool that the provider runs has no result in its message, and none at the beginning of the next response.",
    "server-result-without-call": "A result of a tool that the provider runs has no call before it.",
    "tool-name": "The name of a called tool has the wrong form.",
    "message-name": "The name of a message has the wrong form.",
    arguments: "The arguments of a call are not a JSON object.",
    "empty-calls": "The client would send an empty list of calls.",
    role: "A message has a role that the provider does not know.",
    "unpaired-surrogate": "A text has half of a surrogate pair, as after a cut in the middle of an emoji.",
    "content-form":
      "The content is neither a text nor a list of blocks, or the client cannot send it in this form.",
    "foreign-block": "A content block has another provider's form.",
    "foreign-field": "A text block has a field that the provider refuses.",
    "cache-marks": "More blocks have a mark for the prompt cache than the provider takes.",
    "empty-assistant": "An assistant message has neither text nor calls.",
    "blank-text": "A text, or a text block, is empty or blank.",
    "blank-user": "A user message says nothing.",
    "blank-result": "A result says nothing.",
    "foreign-state": "A message carries signed or stored state that another model made.",
    "item-id": "The ids of stored items do not fit the calls or the messages that carry them.",
    "reasoning-alone": "Stored reasoning is sent without the item that followed it.",
    "missing-reasoning": "An assistant message lacks the reasoning that must be passed back.",
  },
} as const;

type About = keyof typeof MEANINGS;

export type RuleName = { [Subject in About]: keyof (typeof MEANINGS)[Subject] }[About];

interface RuleRow {
  /** What the rule is about: calls and their results, the order of messages, or the content of one message. */
  readonly about: About;
  readonly meaning: string;
}

/** Every rule. */
export const RULES = Object.fromEntries(
  Object.entries(MEANINGS).flatMap(([about, meanings]) =>
    Object.entries(meanings).map(([name, meaning]) => [name, { about, meaning }]),
  ),
) as Readonly<Record<RuleName, RuleRow>>;

/**
 * - `confirmed`: the source quotes the provider's error text, or somebody tried it live.
 * - `source`: read in the validator's source code.
 * - `documented`: the provider's documentation says so.
 * - `inferred`: nobody quotes the provider's words. We follow the rule because it costs nothing, or because somebody reports
 *   the refusal. Do not quote it as a fact.
 */
export type Grade = "confirmed" | "source" | "documented" | "inferred";

export interface Rule {
  /** The beginning of the provider's error, long enough to search for. `{ids}`, `{id}`, `{name}`, `{index}` and `{next}` are filled in from the fault. */
  readonly text: string;
  readonly grade: Grade;
  /** Where it was reported, documented or read, below `https://github.com/`. Undefined if nobody has reported it. */
  readonly source: string | undefined;
}

export type Rules = Readonly<Partial<Record<RuleName, Rule>>>;

/** Short, because each bundle has all sources: the page's path on GitHub. */
export const confirmed = (text: string, source: string): Rule => ({ text, grade: "confirmed", source });
export const fromSource = (text: string, source: string): Rule => ({ text, grade: "source", source });
/** No provider has stated it. With a source, somebody has seen the refusal without quoting it. */
export const inferred = (text: string, source?: string): Rule => ({ text, grade: "inferred", source });

/** The rules that a dialect has unless its room says otherwise, in our own words. */
export const EVERYWHERE = {
  "empty-history": inferred("There are no messages."),
  "duplicate-result": inferred("The call {id} has two results."),
  "call-id": inferred("The id of a tool call is not valid."),
  "duplicate-call-id": inferred("Two tool calls of one message have the id {id}."),
  "tool-name": inferred("The name of a tool is not valid."),
  arguments: inferred("The arguments of a tool call must be a JSON object."),
  "unpaired-surrogate": inferred("A text is not valid Unicode."),
  "content-form": inferred("The content must be text or a list of blocks."),
} as const satisfies Rules;

/** Rules in our own words that some dialects have. */
export const INFERRED = {
  "result-order": inferred("The results must be in the order of their calls."),
  "empty-calls": inferred("The list of tool calls is empty."),
  "foreign-block": inferred("Content blocks of type {name} are not known."),
  "system-position": inferred("A system message must be the first message."),
  // Clients throw for others.
  role: inferred("The role {name} is not known."),
} as const satisfies Rules;

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

const IN_FRONT: SystemPlaces = { several: false, after: [], last: false };

/**
 * The place of the first system message where the provider takes none. -1 if there is none.
 *
 * @param modelId Undefined: some model of the provider takes it. Empty: the model is unknown.
 */
export function misplacedSystem(
  messages: readonly Pick<BaseMessage, "type">[],
  { rules, systemPlaces = IN_FRONT }: Dialect,
  modelId?: string,
): number {
  if (rules["system-position"] === undefined) return -1;
  const { several, after, before, last, models } = systemPlaces;
  const isTakenAfter = ({ type }: Pick<BaseMessage, "type">) => after.some((taken) => taken === type);
  const isTakenBefore = (next: Pick<BaseMessage, "type"> | undefined) =>
    next === undefined ? last : (before?.some((taken) => taken === next.type) ?? true);
  const takesAny = models === undefined || modelId === undefined || models.test(modelId);
  const talk = messages.findIndex(({ type }) => type !== "system");
  let count = 0;
  return messages.findIndex((message, index) => {
    if (message.type !== "system") return false;
    count += 1;
    if (count > 1 && !several) return true;
    const previous = messages[index - 1];
    if (previous === undefined || talk < 0 || index < talk) return false;
    return !takesAny || !isTakenAfter(previous) || !isTakenBefore(messages[index + 1]);
  });
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
  readonly rules: Rules;
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

/*
 * Which model wrote a message.
 */

/** Who is asked. A response is the words of whoever was asked for it, whatever name it carries. */
export interface Asked {
  /** The kind of client. Undefined if no client is known. */
  readonly client?: string | undefined;
  /** Where it sends its requests. Undefined if it does not tell. */
  readonly host?: string | undefined;
  /** The name of the model that gets the request. Undefined if unknown. */
  readonly modelId: string | undefined;
}

/** The model that a request is made for. */
export interface Target extends Asked {
  readonly dialect: Dialect;
  /** The fingerprints of described pictures and files, with the reasons. Undefined: none. */
  readonly described?: ReadonlyMap<string, string> | undefined;
}

interface Maker {
  /** The name in LangChain's `response_metadata.model_provider`. Undefined if the message does not say. */
  readonly provider: string | undefined;
  readonly model: string | undefined;
}

export function readMaker({ response_metadata }: AIMessage): Maker {
  const read = (name: string): string | undefined => textIn(response_metadata, name) || undefined;
  return { provider: read("model_provider"), model: read("model_name") ?? read("model") };
}

/** After the kind of a client: it is asked over OpenAI's Responses API. */
export const RESPONSES = "-responses";

/** Who was asked for a response, as its mark says. Undefined: it has no mark. */
export function askedFor({ additional_kwargs }: BaseMessage): Asked | undefined {
  const mark: unknown = additional_kwargs?.[MARKS.asked];
  const client = textIn(mark, "client");
  return client === undefined
    ? undefined
    : { client, host: textIn(mark, "host"), modelId: textIn(mark, "model") };
}

/** The message with a mark that says who was asked for it. The names of its host's fields stay in the mark. */
export function withAsked<T extends BaseMessage>(message: T, { client, host, modelId: model }: Asked): T {
  const given: unknown = message.additional_kwargs?.[MARKS.asked];
  return client === undefined
    ? message
    : withMarks(message, { [MARKS.asked]: { ...Object(given), ...defined({ client, host, model }) } });
}

/**
 * Whether the target model may have written a message, so nothing in the message names another author. What was asked
 * decides if both are known. Otherwise the names are compared, and for an unknown dialect only the model's.
 */
export function mayHaveWritten(message: AIMessage, { dialect, client, host, modelId }: Target): boolean {
  const { provider, model } = readMaker(message);
  const asked = askedFor(message);
  if (asked !== undefined && client !== undefined) {
    // An alias can be pinned later: to the name that it answered with.
    const isSame = asked.modelId === modelId || (model !== undefined && model === modelId);
    // The tools of one request can make a client use the Responses API, so others do not exclude it.
    const isSameClient = asked.client === client || asked.client === client + RESPONSES;
    return isSame && isSameClient && asked.host === host;
  }
  const { makers } = dialect;
  if (makers.length > 0 && provider !== undefined && !makers.includes(provider)) return false;
  const names = [model, asked?.modelId].filter((name) => name !== undefined);
  return names.length === 0 || modelId === undefined || names.some((name) => isSameModel(name, modelId));
}

/** Whether a message names the target as its author, so that its state goes back. */
export function isOwn(message: AIMessage, target: Target): boolean {
  const { makers, isClosed = false } = target.dialect;
  if (isClosed || !mayHaveWritten(message, target)) return false;
  if (target.client !== undefined && askedFor(message) !== undefined) return true;
  const { provider, model } = readMaker(message);
  return makers.length > 0 && (provider ?? (target.modelId && model)) !== undefined;
}

/** Whether this library noted that the target was asked for a message. Then nothing of it can be foreign. */
export function isNotedOwn(message: AIMessage, target: Target): boolean {
  return target.client !== undefined && askedFor(message) !== undefined && isOwn(message, target);
}

/** The place of the last message before which the target reads nothing, because its provider has compacted that. */
export function compactedAt(messages: readonly BaseMessage[], target: Target): number {
  const { isCompacted, makers } = target.dialect;
  if (isCompacted === undefined) return 0;
  const { places } = follow(messages, makers.join(), () => {
    const compactions: number[] = [];
    return {
      places: compactions,
      take: (message, index) => {
        if (isAIMessage(message) && isCompacted(message)) compactions.push(index);
      },
    };
  });
  return places.findLast((place) => mayHaveWritten(messages[place] as AIMessage, target)) ?? 0;
}

/** What an input's measure knows about the model that reads it: what it skips, and which responses it wrote. */
export function readingOf(target: Target): Pick<InputOverhead, "compactedAt" | "mayHaveWritten"> {
  return {
    compactedAt: target.dialect.isCompacted && ((messages) => compactedAt(messages, target)),
    mayHaveWritten: (response) => isAIMessage(response) && mayHaveWritten(response, target),
  };
}

/** Follows the messages with which a provider has compacted the conversation. */
const follow = createFollowing<Follower & { readonly places: readonly number[] }>();

/** A date or a version of three digits. A provider appends it when it resolves an alias. */
const VERSION = /^[-@](\d{4}-\d{2}-\d{2}|\d{6,8}|\d{3,4}|latest)$/;

/** Whether two names mean the same model: they are equal, or one has a version after it or a path before it. */
export function isSameModel(one: string, other: string): boolean {
  const names = [one, other].map((name) => name.replace(/^.*\//, ""));
  const [short = "", long = ""] = names.sort((first, second) => first.length - second.length);
  return short === long || (long.startsWith(short) && VERSION.test(long.slice(short.length)));
}
