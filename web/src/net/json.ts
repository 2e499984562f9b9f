// JSON as the gateway sends it, with all digits of its numbers.

const MAY_BE_INEXACT = /\d{16}|\d[eE]\+?\d{3}/;
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Parses JSON. A number that a double cannot hold, such as an id of 19 digits, becomes the text of its digits. */
export function parseJson(text: string): unknown {
  return JSON.parse(MAY_BE_INEXACT.test(text) ? text.replace(TEXT_OR_NUMBER, (token) => (isInexact(token) ? `"${token}"` : token)) : text);
}

function isInexact(token: string): boolean {
  const value = token.startsWith('"') ? 0 : Number(token);
  return Math.abs(value) === Infinity || (Number.isInteger(value) && !Number.isSafeInteger(value) && String(value) !== token);
}
