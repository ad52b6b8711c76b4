/**
 * SHA-256 as FIPS 180-4 describes it, for ids and not for secrets. The functions on messages run where `node:crypto` is
 * missing, they are synchronous where the Web Crypto API is not, and a package for it would be a tenth of their bundle.
 */

const START = /* @__PURE__ */ new Int32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]);

const ROUNDS = /* @__PURE__ */ new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
]);

const BLOCK = 64;
const encoder = new TextEncoder();

/** The SHA-256 of a text in UTF-8, as 64 hexadecimal digits. */
export function hashText(text: string): string {
  const blocks = pad(encoder.encode(text));
  const state = START.slice();
  const words = new Int32Array(BLOCK);
  for (let offset = 0; offset < blocks.byteLength; offset += BLOCK) {
    expand(words, blocks, offset);
    compress(state, words);
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/** The bytes, a one bit, zeros, and the number of bits in the last eight bytes of a whole block. */
function pad(bytes: Uint8Array): DataView {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  return view;
}

function expand(words: Int32Array, blocks: DataView, offset: number): void {
  for (let at = 0; at < 16; at += 1) words[at] = blocks.getInt32(offset + at * 4);
  for (let at = 16; at < BLOCK; at += 1) {
    const near = wordAt(words, at - 2);
    const far = wordAt(words, at - 15);
    const mixed =
      (rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10)) +
      (rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3));
    words[at] = mixed + wordAt(words, at - 7) + wordAt(words, at - 16);
  }
}

function compress(state: Int32Array, words: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let at = 0; at < BLOCK; at += 1) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const early = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + wordAt(ROUNDS, at);
    const first = (early + wordAt(words, at)) | 0;
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = wordAt(state, at) + word;
}

function wordAt(words: Int32Array, at: number): number {
  return words[at] ?? 0;
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
