/** What the offline model understands without a tool being named: one row for each tool it knows. */

import { findNotes, findQueries } from "./free-text.js";
import { findSums } from "./sums.js";
import { findTimes, findWeather } from "./topics.js";
import type { Wish } from "./wish.js";

interface Intent {
  readonly tool: string;
  /** Free text holds words of the user, in which no other wish is looked for. */
  readonly kind: "free-text" | "topic";
  /** In any order; wishes that overlap are alternatives, of which the first in the text counts. */
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
