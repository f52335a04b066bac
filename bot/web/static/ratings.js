// Thumbs below answers: this browser keeps which were offered and which one is pressed, as no history has them.

import { forget, keep, kept } from "./kept.js";

const RATINGS = "kaiwa.ratings"; // [{ id, said, ratings, rated }]: a conversation, the last message that is answered, its thumbs and the action of the pressed one
const MOST = 500;

/** Those of a conversation: the last message that is answered → { ratings, rated }. */
export function ratingsOf(id) {
  const own = kept(RATINGS).filter((entry) => entry.id === id);
  return new Map(own.map(({ said, ratings, rated }) => [said, { ratings, rated }]));
}

export function keepRatings(id, said, { ratings, rated }) {
  keep(RATINGS, { id, said, ratings, rated }, ["id", "said"], MOST);
}

export const forgetRatings = (id) => forget(RATINGS, id);
