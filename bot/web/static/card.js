// What stands below an answer's words: its cards, and choices, which a press says in the person's name.

import { unturned } from "./turning.js";

/** Show cards { title, rows: [[label, value]], note }. */
export function showCards(container, cards, make) {
  if (!isNew(container, cards)) return;
  container.replaceChildren(...cards.map((card) => toElement(card, make)));
}

/** Show a button for each choice. */
export function showChoices(container, choices, make) {
  if (!isNew(container, choices)) return;
  container.replaceChildren(
    ...choices.map((choice) => {
      const button = make("button");
      button.type = "button";
      button.dataset.say = choice;
      button.textContent = unturned(choice);
      return button;
    }),
  );
}

/** The words that a click says; nothing where the click was elsewhere. */
export function choiceIn(target) {
  return target.closest?.("[data-say]")?.dataset.say ?? "";
}

function isNew(container, shown) {
  const known = JSON.stringify(shown);
  container.hidden = !shown.length;
  if (container.dataset.shown === known) return false;
  container.dataset.shown = known;
  return true;
}

function toElement({ title, rows = [], note }, make) {
  const card = make("div", "card");
  const heading = card.appendChild(make("p", "ask"));
  heading.textContent = unturned(title);
  const list = card.appendChild(make("dl"));
  for (const [label, value] of rows) {
    list.appendChild(make("dt")).textContent = unturned(label);
    list.appendChild(make("dd")).textContent = unturned(value);
  }
  if (note) card.appendChild(make("p", "hint")).textContent = unturned(note);
  return card;
}
