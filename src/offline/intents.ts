/** The requests that the offline model understands without the name of a tool: one row for each tool. */

import { findNotes, findQueries } from "./free-text.js";
import { findSums } from "./sums.js";
import { findTimes, findWeather } from "./topics.js";
import type { Wish } from "./wish.js";

interface Intent {
  readonly tool: string;
  /** Free text contains words of the user, which are not searched for other wishes. */
  readonly kind: "free-text" | "topic";
  /** Returns the wishes in any order. If wishes overlap, the first one in the text counts. */
  readonly findWishes: (text: string) => readonly Wish[];
}

export const INTENTS: readonly Intent[] = [
  /** `save a note: buy milk`, `note that …`, `remember …`, `add eggs to my notes` */
  { tool: "save_note", kind: "free-text", findWishes: findNotes },
  /** `search my notes for milk`, `what did I note about milk`, `list my notes` */
  { tool: "search_notes", kind: "free-text", findWishes: findQueries },
  /** `weather in Paris and in Tokyo`, `how warm is it in Rome` */
  { tool: "weather", kind: "topic", findWishes: findWeather },
  /** `what time is it`, `time in Tokyo` */
  { tool: "current_time", kind: "topic", findWishes: findTimes },
  /** `what is 3*4`, `calculate 6 times 7` */
  { tool: "calculator", kind: "topic", findWishes: findSums },
];
