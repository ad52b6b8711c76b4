/** The label under which the store keeps what belongs to a user. */

/** A run without a user has this label. No user has it, because `%` and two other characters stand for each other. */
const NOBODY = "%nobody";

/** A label of a namespace must not contain periods or colons. Two users never have the same label. */
export function userLabel(user: string | undefined): string {
  return user === undefined ? NOBODY : encodeURIComponent(user).replaceAll(".", "%2E");
}
