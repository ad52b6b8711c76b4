/** So many of the latest places are all kept. A thread mostly changes at its end. */
const LATEST = 64;
/** Of the places before them, one of so many is kept: a follower that goes back there takes a few messages again. */
const APART = 16;

/** What a follower knew when it had taken so many messages. Contract: it is not changed in place. */
export interface Place {
  readonly taken: number;
}

/** The places to which a follower can go back. */
export class Places<Kept extends Place> {
  readonly #earlier: Kept[] = [];
  readonly #latest: Kept[] = [];

  /** Adds a place after the others. */
  add(place: Kept): void {
    if (this.#latest.length === 2 * LATEST) {
      for (let index = 0; index < LATEST; index += APART) this.#earlier.push(this.#latest[index] as Kept);
      this.#latest.splice(0, LATEST);
    }
    this.#latest.push(place);
  }

  /** Removes the last place at which at most this many messages were taken, and those after it. */
  rewind(length: number): Kept | undefined {
    return lastWithin(this.#latest, length) ?? lastWithin(this.#earlier, length);
  }
}

function lastWithin<Kept extends Place>(places: Kept[], length: number): Kept | undefined {
  let place = places.pop();
  while (place !== undefined && place.taken > length) place = places.pop();
  return place;
}
