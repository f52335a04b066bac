// What can be done with an answer: copied, tried again with the same or other words, rated.

import { PENCIL, icon } from "./icon.js";

const COPY = "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3";
const DONE = "M3 8.5l3.5 3.5L13 4.5";
const AGAIN = "M13 8a5 5 0 11-1.5-3.6M13 2v3h-3";
const THUMB = "M5 7v6.5H2.5V7zM5 7l2.5-4.5c1 0 1.6.7 1.4 1.8L8.5 6.5h4c.8 0 1.3.7 1.1 1.5l-1 4.3c-.2.7-.7 1.2-1.4 1.2H5";

const texts = new WeakMap(); // container → the answer

/** Show what an answer { text, whole, again, ratings, rated } offers. */
export function showActions(container, { text, whole, again, ratings = [], rated }, words, make) {
  texts.set(container, text);
  const known = JSON.stringify([Boolean(text), whole, again, ratings, rated, words.language]);
  if (container.dataset.shown === known) return;
  container.dataset.shown = known;
  const button = (name, label, path) => {
    const made = make("button", name);
    made.type = "button";
    made.ariaLabel = made.title = label;
    made.append(icon(path));
    return made;
  };
  const offered = [];
  if (whole && text && navigator.clipboard) offered.push(copying(button("copy", words.say("copy_answer"), COPY), container, words));
  if (again) offered.push(button("again", words.say("try_again"), AGAIN), button("edit", words.say("edit_message"), PENCIL));
  for (const { label, action, value, style } of ratings) {
    const rating = button(style, label, THUMB);
    Object.assign(rating.dataset, { action, value });
    rating.ariaPressed = String(rated === action);
    offered.push(rating);
  }
  container.replaceChildren(...offered);
}

function copying(button, container, words) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(texts.get(container));
    button.replaceChildren(icon(DONE));
    button.ariaLabel = button.title = words.say("copied");
  });
  return button;
}
