// What stands below an answer's words: its cards, and buttons.

import { unturned } from "./turning.js";

/** Show cards { title, rows: [[label, value]], note }. */
export function showCards(container, cards, make) {
  if (!isNew(container, cards)) return;
  container.replaceChildren(...cards.map((card) => toElement(card, make)));
}

/** Show buttons { label, action, value }. */
export function showButtons(container, buttons, make) {
  if (!isNew(container, buttons)) return;
  container.replaceChildren(
    ...buttons.map(({ label, action, value }) => {
      const button = make("button");
      button.type = "button";
      Object.assign(button.dataset, { action, value });
      button.textContent = unturned(label);
      return button;
    }),
  );
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
