/** Finds place names in a request, and their time zones. */

const STOP_WORDS = [
  "and|or|then|also|plus|please|thanks|now|right|today|tonight|tomorrow|currently|there|here",
  "what|how|is|was|are|will|for|at|on|of|as|by|with|but|if|this|that|the|a|an|to|in|it|i|me|my|you|us",
  "calculate|compute|search|save|remember|note|tell|give|show|list|weather|forecast|temperature|time|call|use",
].join("|");
const WORD = String.raw`(?!(?:${STOP_WORDS})\b)\p{L}[\p{L}'’-]*`;
const IANA_NAME = /[a-z_]+(?:\/[a-z_+-]+\d*)+/iuy;
const NAME = new RegExp(String.raw`(?:St\. )?${WORD}(?: ${WORD}){0,2}`, "iuy");
/**
 * The text between two places of a list. Group 1 is a comma without a word after it, which can also introduce
 * a country.
 */
const JOINT = /\s*(?:,?\s*(?:and also|and|also|plus|as well as|or|&)\s+|(,)\s*)(?:(?:in|for|at)\s+)?/iuy;
const PARTICLES: ReadonlySet<string> = new Set([
  "de",
  "del",
  "di",
  "da",
  "do",
  "la",
  "le",
  "las",
  "upon",
  "am",
]);

/** Cities whose time zone has another name. */
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

/** Maps `tokyo` to `Asia/Tokyo`: a zone is named after its best known city. */
const ZONES: ReadonlyMap<string, string> = new Map([
  ...Intl.supportedValuesOf("timeZone").map((zone) => [cityOfZone(zone), zone] as const),
  ...CITY_ZONES,
]);

/**
 * The places named from `position` on: `Paris`, or a list such as `Paris, Rome and in New York`. Only the
 * first can be an unknown name in small letters, because the word after an "and" need not be a place.
 */
export function readPlacesAt(text: string, position: number): string[] {
  const first = readPlaceAt(text, position);
  if (first === undefined) return [];
  const places = [first];
  // `Rome, Oslo and Bonn` is a list; `Paris, France` is not. Only the "and" shows which one it is.
  const undecided: string[] = [];
  let end = position + first.length;
  for (;;) {
    const joint = matchAt(JOINT, text, end);
    const place = joint && readPlaceAt(text, end + joint[0].length);
    if (joint === undefined || place === undefined || !isSurelyPlace(place)) return unique(places);
    end += joint[0].length + place.length;
    if (joint[1] === undefined) places.push(...undecided.splice(0), place);
    else if (isKnownCity(place)) places.push(place);
    else undecided.push(place);
  }
}

/**
 * The IANA time zone of a place. An unknown place is returned unchanged, so that the tool refuses it by its
 * name.
 */
export function timeZoneOf(place: string): string {
  return ZONES.get(place.toLowerCase()) ?? place;
}

function isKnownCity(name: string): boolean {
  return ZONES.has(name.toLowerCase());
}

function readPlaceAt(text: string, position: number): string | undefined {
  const zone = matchAt(IANA_NAME, text, position);
  if (zone !== undefined) return zone[0];
  const words = matchAt(NAME, text, position)?.[0].split(" ");
  if (words === undefined) return undefined;
  const known = [3, 2, 1].map((count) => words.slice(0, count).join(" ")).find(isKnownCity);
  if (known !== undefined) return known;
  // "Gotham City tonite": a name that begins with a capital ends at its last capitalised word.
  const [first = ""] = words;
  if (!isProper(first)) return words.join(" ");
  const after = words.findIndex((word) => !isProper(word) && !PARTICLES.has(word));
  const name = after === -1 ? words : words.slice(0, after);
  return name.slice(0, name.findLastIndex(isProper) + 1).join(" ");
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? undefined;
}

function isSurelyPlace(name: string): boolean {
  return isProper(name) || isKnownCity(name);
}

function isProper(word: string): boolean {
  return !/^\p{Ll}/u.test(word);
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

function cityOfZone(zone: string): string {
  return zone
    .slice(zone.lastIndexOf("/") + 1)
    .replaceAll("_", " ")
    .toLowerCase();
}
