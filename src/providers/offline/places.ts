/** Names of places in a request, and the time zones they are in. */

const STOP_WORDS =
  "and|or|then|please|now|right|today|tonight|tomorrow|what|how|is|for|at|on|by|with|this|the|to|in|also";
const WORD = String.raw`(?!(?:${STOP_WORDS})\b)\p{L}[\p{L}'’-]*`;
const NAME = `${WORD}(?: ${WORD}){0,2}`;
const IANA_NAME = String.raw`[A-Za-z_]+(?:/[A-Za-z_+-]+\d*)+`;

/** Source of a pattern with two groups: a place, and further places as in `Paris, Rome and New York`. */
export const PLACES = `(${IANA_NAME}|${NAME})((?:, ${NAME})*,? and (?:${IANA_NAME}|${NAME}))?`;

/** Cities whose time zone does not bear their name. */
const CITY_ZONES: ReadonlyMap<string, string> = new Map([
  ["beijing", "Asia/Shanghai"],
  ["shenzhen", "Asia/Shanghai"],
  ["san francisco", "America/Los_Angeles"],
  ["seattle", "America/Los_Angeles"],
  ["boston", "America/New_York"],
  ["washington", "America/New_York"],
  ["munich", "Europe/Berlin"],
  ["mumbai", "Asia/Kolkata"],
  ["北京", "Asia/Shanghai"],
  ["上海", "Asia/Shanghai"],
  ["东京", "Asia/Tokyo"],
  ["伦敦", "Europe/London"],
  ["巴黎", "Europe/Paris"],
  ["纽约", "America/New_York"],
]);

/** From `tokyo` to `Asia/Tokyo`: a zone is named after its best known city. */
const ZONES: ReadonlyMap<string, string> = new Map([
  ...Intl.supportedValuesOf("timeZone").map((zone) => [cityOfZone(zone), zone] as const),
  ...CITY_ZONES,
]);

/** Reads the two groups of {@link PLACES}. Only the first place may be in small letters: what follows may be no place. */
export function readPlaces(first: string | undefined, further: string | undefined): string[] {
  if (first === undefined) return [];
  const others = (further ?? "").split(/,? and |, /u).filter((name) => /^\p{Lu}/u.test(name));
  return [first, ...others];
}

/** The IANA time zone of a place. An unknown place is returned as it is, for the tool to refuse it by its name. */
export function timeZoneOf(place: string): string {
  return ZONES.get(place.toLowerCase()) ?? place;
}

function cityOfZone(zone: string): string {
  return zone
    .slice(zone.lastIndexOf("/") + 1)
    .replaceAll("_", " ")
    .toLowerCase();
}
