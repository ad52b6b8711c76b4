/** Cuts of conversations that have the shape of recorded ones. */

import {
  coerceMessageLikeToMessage,
  mapChatMessagesToStoredMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { type RecordedMessage, recordedConversations } from "../../test/support/recorded-conversations.js";
import { createRandom } from "../create-random.js";
import { human } from "../stored.js";
import { type History, suiteOf } from "./give-history.js";

const GO_ON = human("Go on.");
const EVERY = 6;

/** Its list can begin with the assistant. Today's Claude accepts that, and the strict provider knows the older rule. */
const LAST = "keeps its last messages";

type List = readonly StoredMessage[];

/**
 * The ways in which programs cut a thread. None of them looks at the messages, so some of the cuts leave a history that
 * every provider accepts.
 */
const CUTS = {
  "ends early": (list, place) => list.slice(0, place),
  [LAST]: (list, place) => [...list.filter(isSystem), ...list.slice(place)],
  "lacks its middle": (list, place) => [...list.slice(0, 2), ...list.slice(place)],
  "lacks one message": (list, place) => [...list.slice(0, place), ...list.slice(place + 1)],
} as const satisfies Record<string, (list: List, place: number) => List>;

const isSystem = ({ type }: StoredMessage) => type === "system";
const random = createRandom(17);

function cutsOf(conversation: readonly RecordedMessage[], number: number): History[] {
  const list = mapChatMessagesToStoredMessages(
    conversation.map(({ content, ...message }) =>
      // An empty result is a fault of another kind.
      coerceMessageLikeToMessage({ ...message, content: content === "" ? "none" : content } as never),
    ),
  );
  return Object.entries(CUTS).map(([title, cut], index) => {
    const place = 3 + Math.floor(random() * (list.length - 4));
    const messages = [...cut(list, place), GO_ON];
    return {
      id: `conversation ${number} ${title}, at message ${place} of ${list.length}`,
      host: index % 2 === number % 2 || title === LAST ? "openai" : "anthropic",
      messages,
    };
  });
}

export const recordedCuts = suiteOf(
  {
    name: "cuts",
    passes:
      "A conversation with the shape of a recorded one is cut at a random message in four ways, and given to the agent. The provider accepts the request, and every text of the user is in it.",
  },
  recordedConversations.flatMap((conversation, number) =>
    number % EVERY === 0 && conversation.length > 6 ? cutsOf(conversation, number) : [],
  ),
);
