/** Broken histories from public reports. */

import { mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { REFUSED_HISTORIES } from "../../test/support/refused-histories.js";
import { type History, suiteOf } from "./give-history.js";

/** Refused in 2024. Today's Claude accepts it, so it is no fault to send it. */
const ACCEPTED_TODAY: readonly string[] = ["the first message is not the user's"];

export const reportedHistories = suiteOf(
  {
    name: "histories",
    passes:
      "A history that somebody reported, with the words of the provider that refused it, is given to the agent. The provider accepts the request, and every text of the user is in it.",
  },
  REFUSED_HISTORIES.flatMap(({ title, provider, history, report }): History | [] =>
    provider === "dashscope-native" || ACCEPTED_TODAY.includes(title)
      ? []
      : {
          id: `${provider}: ${title}`,
          host: provider,
          messages: mapChatMessagesToStoredMessages(history),
          source: report,
        },
  ),
);
