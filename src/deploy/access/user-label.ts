/** The labels under which the store keeps what belongs to a user. Two users never have the same label. */

import { formerLabel, storeLabel } from "../../threads/stores.js";

export interface UserLabels {
  /** What is written has this label. */
  readonly label: string;
  /** The label of what earlier versions wrote, if it is another one. */
  readonly former: string | undefined;
}

/** Runs without a user have these labels. No user has them: the name of a user is escaped differently. */
const NOBODY: UserLabels = { label: "x--nobody", former: "%nobody" };

export function userLabels(user: string | undefined): UserLabels {
  return user === undefined ? NOBODY : { label: storeLabel(user), former: formerLabel(user) };
}
