/** Reads the body of a request, in the form of the provider that refused it. */

import { anthropicRequests } from "../providers/anthropic/request-form.js";
import { geminiRequests } from "../providers/gemini/request-form.js";
import { chatRequests, isOfCustomCall, responsesRequests } from "../providers/openai/request-forms.js";
import type { FormFault, PlacedMessage, RequestForm } from "../providers/request-form.js";
import { isRecord, recordsIn } from "../shared/values.js";

/** The first form that fits is meant. */
const FORMS: readonly RequestForm[] = [geminiRequests, responsesRequests, anthropicRequests, chatRequests];

export interface RequestBody {
  readonly form: RequestForm;
  readonly entries: readonly unknown[];
  readonly messages: readonly PlacedMessage[];
  /** The indexes of entries that are not objects. */
  readonly foreign: readonly number[];
  readonly faults: readonly (FormFault & { readonly index: number })[];
  /** The ids of calls whose input is a text. */
  readonly customCalls: ReadonlySet<unknown>;
}

/**
 * Undefined for anything else, such as a list of LangChain's messages.
 *
 * @param value A body, or only the list in it.
 * @throws InvalidSettingError for a body that leaves out what the provider has stored.
 */
export function readRequestBody(value: unknown): RequestBody | undefined {
  const body = isRecord(value) ? value : {};
  const list = isRecord(value) ? (body["contents"] ?? body["input"] ?? body["messages"]) : value;
  const entries = typeof list === "string" && "model" in body ? [{ role: "user", content: list }] : list;
  if (!Array.isArray(entries)) return undefined;
  const fields = recordsIn(entries);
  const form = FORMS.find(({ isOf }) => isOf(body, fields));
  if (form === undefined) return undefined;
  const faultsAt = (entry: unknown, index: number) =>
    isRecord(entry) ? (form.faultsOf?.(entry, index) ?? []).map((fault) => ({ ...fault, index })) : [];
  return {
    form,
    entries,
    messages: form.read(entries, body),
    foreign: [...entries.keys()].filter((index) => !isRecord(entries[index])),
    faults: entries.flatMap(faultsAt),
    customCalls: new Set(fields.filter(isOfCustomCall).map(({ call_id }) => call_id)),
  };
}
