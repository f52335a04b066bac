// A card with buttons, such as a poll. A button that is named like a row says the row's value too.

import { unturned } from "./turning.js";

/** The parts of a card. */
export function createCard(make) {
  const card = make("div", "card");
  card.role = "group";
  card.append(make("p", "ask"), make("p", "rows"), make("p", "choices"), make("p", "hint"), make("p", "choices"));
  return [make("span", "mark"), card];
}

/** Show a card { key, title, rows: [[label, value]], note, buttons: [{ label, action, value, closes }] } as it stands. */
export function updateCard(element, { title, rows, note, buttons }, make, setText) {
  const [, card] = element.children;
  const [heading, list, choices, hint, closing] = card.children;
  const values = new Map(rows);
  const named = new Set(buttons.map((button) => button.label));
  card.ariaLabel = unturned(title);
  setText(heading, unturned(title));
  setText(list, rows.filter(([label]) => !named.has(label)).map(inWords).join("\n"));
  setText(hint, note);
  fill(choices, buttons.filter((button) => !button.closes), values, make, setText);
  fill(closing, buttons.filter((button) => button.closes), values, make, setText);
}

/** The press that a click makes, { action, value }; nothing where the click was elsewhere. */
export function pressIn(target) {
  const button = target.closest?.("[data-action]");
  return button ? { action: button.dataset.action, value: button.dataset.value } : null;
}

function fill(parent, buttons, values, make, setText) {
  while (parent.children.length < buttons.length) parent.appendChild(make("button")).type = "button";
  while (parent.children.length > buttons.length) parent.lastChild.remove();
  parent.hidden = !buttons.length;
  buttons.forEach(({ label, action, value = "" }, index) => {
    const button = parent.children[index];
    Object.assign(button.dataset, { action, value });
    setText(button, inWords([label, values.get(label)]));
  });
}

function inWords(row) {
  return row.filter(Boolean).map(unturned).join(": ");
}
