import { InvalidSettingError } from "../../errors.js";
import { checkToolCallsToKeep } from "../../history/long-threads/filter-tool-calls.js";
import { didYouMean } from "../../shared/did-you-mean.js";
import { isRecord } from "../../shared/is-record.js";
import { dialectNamed } from "../dialects/dialects.js";
import type { ModelInputOptions } from "./to-model-input.js";

type Check<Value> = (value: Value, name: string) => void;

const checkText: Check<string> = (value, name) => {
  if (typeof value !== "string") throw InvalidSettingError.expected(name, "a string", value);
};

const CHECKS: { readonly [Name in keyof ModelInputOptions]-?: Check<NonNullable<ModelInputOptions[Name]>> } =
  {
    systemPrompt: checkText,
    maxToolCallsFromHistory: checkToolCallsToKeep,
    maxTokens: (value, name) => {
      if (!(typeof value === "number" && value >= 0))
        throw InvalidSettingError.expected(name, "a number of 0 or more", value);
    },
    dialect: dialectNamed,
    modelId: checkText,
  };

/** @throws InvalidSettingError for an unknown name, or a value that the option does not take. Undefined values pass. */
export function checkInputOptions(options: ModelInputOptions): void {
  if (!isRecord(options)) throw InvalidSettingError.expected("options", "an object", options);
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof ModelInputOptions] : undefined;
    if (check === undefined) throw unknownOption(name);
    if (value !== undefined) (check as Check<unknown>)(value, name);
  }
}

function unknownOption(name: string): InvalidSettingError {
  const known = Object.keys(CHECKS);
  const help = didYouMean(name, known) || ` Known options are: ${known.join(", ")}.`;
  return new InvalidSettingError(name, `Unknown option \`${name}\`.${help}`);
}
