// Directions of text that stay open until they are closed: they would turn round what is not theirs.

const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text without them; words in scripts that are read from right to left need none. */
export const unturned = (text) => text.replace(TURNS, "");

/** JSON with them as escapes. */
export const unturnedJSON = (value) =>
  JSON.stringify(value, null, 2).replace(TURNS, (turn) => `\\u${turn.codePointAt(0).toString(16)}`);
