/**
 * Generated histories with every fault, over HTTP through the real clients, to providers that reject an invalid
 * history.
 */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { planRepair, threadOfList } from "../../src/doctor.js";
import { repairHistory } from "../../src/history.js";
import { DIALECTS } from "../../src/providers/dialects.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { COMMON } from "../../src/providers/rule.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { runs } from "../support/law-runs.js";
import { acceptedLists } from "../support/scattered-calls.js";
import {
  ANSWER,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { clientOf, PROVIDERS } from "./clients.js";

const RAW_RUNS = 60;
/** At least this many raw histories must be rejected. Otherwise the check proves nothing. */
const REFUSED_AT_LEAST = 0.6;
/** At least this many lists with calls in every place must be accepted before their repair. */
const ACCEPTED_AT_LEAST = 0.05;
/** Some clients send an unknown role and warn about it. */
const UNKNOWN_ROLE = /^(?:Unknown message role|Unsupported role found .*): critic$/;

expectWarnings(UNKNOWN_ROLE, OLD_PACKAGES);

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

async function streamedText(provider: ProviderName, input: BaseMessage[]): Promise<string> {
  const client = await clientOf(provider, strict);
  let text = "";
  for await (const chunk of await client.stream(input)) text += chunk.text;
  return text;
}

describe.each(PROVIDERS)("%s", (provider) => {
  it("never rejects a model input of its dialect", async () => {
    await fc.assert(
      fc.asyncProperty(foreignHistories(), async (foreign) => {
        const input = toModelInput(buildForeign(foreign), { dialect: provider });
        expect(await streamedText(provider, input)).toBe(ANSWER);
      }),
      runs(45),
    );
  });

  it("never rejects a strict model input", async () => {
    await fc.assert(
      fc.asyncProperty(foreignHistories(), async (foreign) => {
        const input = toModelInput(buildForeign(foreign), { dialect: "strict" });
        // Images are excluded. Most hosts accept them, and a host without images is known by its client.
        fc.pre(
          DIALECTS[provider].media !== COMMON.media ||
            input.every(({ content }) => typeof content === "string"),
        );
        expect(await streamedText(provider, input)).toBe(ANSWER);
      }),
      runs(20),
    );
  });

  it("never rejects a repaired list that it accepted before, wherever its calls stand", async () => {
    const lists = fc.sample(acceptedLists(provider), { ...runs(80), seed: 7 });
    let accepted = 0;
    for (const list of lists) {
      // Clients throw for blocks of other providers. Such a list is not accepted.
      const before = await streamedText(provider, list).catch(() => "");
      if (before !== ANSWER) continue;
      accepted += 1;
      const plan = planRepair(threadOfList(list), { closeOpenCalls: true });
      const stored = plan.kind === "write" ? (plan.after as BaseMessage[]) : list;
      expect(await streamedText(provider, stored)).toBe(ANSWER);
      expect(await streamedText(provider, repairHistory(list).messages)).toBe(ANSWER);
    }
    expect(accepted / lists.length).toBeGreaterThan(ACCEPTED_AT_LEAST);
  });

  it("often rejects the same histories unchanged", async () => {
    const histories = fc.sample(foreignHistories(), { numRuns: RAW_RUNS, seed: 7 }).map(buildForeign);
    const answers = await Promise.allSettled(histories.map((history) => streamedText(provider, history)));
    const refused = answers.filter(({ status }) => status === "rejected").length;
    expect(refused / RAW_RUNS).toBeGreaterThan(REFUSED_AT_LEAST);
  });
});
