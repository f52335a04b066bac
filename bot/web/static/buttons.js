// A card with buttons: a poll, or one that waits for a decision. A button that is named like a row says the row's value too.

import { unturned } from "./turning.js";

const BOXES = { open: false, done: true }; // styles of buttons that tick a row
const BOX = /^[☐☑] /; // which the page draws

/** The parts of a card. */
export function createCard(make) {
  const card = make("div", "card");
  card.role = "group";
  card.append(make("p", "ask"), make("p", "rows"), make("p", "choices"), make("p", "hint"), make("p", "choices closing"));
  return [make("span", "mark"), card];
}

/** The parts of one that waits, and of what takes its place. */
export function createWaiting(make) {
  const [first, given, choices] = [make("code", "name"), make("ul"), make("p", "choices")];
  given.tabIndex = 0; // scrolled by keyboard
  const card = make("div", "card");
  card.tabIndex = -1; // keeps the focus when its buttons go
  card.role = "group";
  card.append(make("p", "ask"), first, given, make("div", "remarks"), make("p", "until"), choices, make("p", "hint"));
  return [make("span", "mark"), card, make("p", "decided")];
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
  const toPress = ({ label, action, value, style }) => ({ text: inWords([label, values.get(label)]), action, value, name: style });
  fill(choices, buttons.filter((button) => !button.closes).map(toPress), make, setText);
  fill(closing, buttons.filter((button) => button.closes).map(toPress), make, setText);
}

/** Show one that waits, { rows, note, buttons, until, pressed, over, outcome }, in the words of the page. The server makes its
    rows, values alone, safe to show; here each but the first is a line. */
export function updateWaiting(element, waiting, words, make, setText) {
  const [, card, outcome] = element.children;
  const [ask, first, given, remarks, until, choices, hint] = card.children;
  const [name, ...lines] = waiting.rows.map(([, value]) => value);
  setText(ask, words.say("ask"));
  card.ariaLabel = `${words.say("ask")} ${name}`;
  setText(first, name);
  list(given, lines, "li", make);
  list(remarks, waiting.note.split("\n").filter(Boolean), "p", make);
  setText(until, words.say("ask_until", { time: words.time(waiting.until) }));
  const toPress = (name, text) => ({ action, value }) => ({ text, action, value, name });
  const rejecting = waiting.buttons.filter((button) => button.closes).map(toPress("reject", words.say("reject")));
  const allowing = waiting.buttons.filter((button) => !button.closes).map(toPress("allow", words.say("allow")));
  fill(choices, [...rejecting, ...allowing], make, setText);
  for (const button of choices.children) button.disabled = waiting.pressed;
  setText(hint, words.say("ask_hint"));
  card.hidden = waiting.over;
  outcome.hidden = !waiting.over;
  setText(outcome, waiting.over ? waiting.outcome || words.say("asked_over") : "");
}

/** The press that a click makes, { action, value }; nothing where the click was elsewhere. */
export function pressIn(target) {
  const button = target.closest?.("[data-action]");
  if (!button) return null;
  button.closest(".question .card")?.focus();
  return { action: button.dataset.action, value: button.dataset.value };
}

function list(parent, lines, kind, make) {
  parent.hidden = lines.length === 0;
  if (parent.children.length) return;
  for (const line of lines) parent.appendChild(make(kind)).textContent = line;
}

function fill(parent, buttons, make, setText) {
  while (parent.children.length < buttons.length) parent.appendChild(make("button")).type = "button";
  while (parent.children.length > buttons.length) parent.lastChild.remove();
  parent.hidden = !buttons.length;
  buttons.forEach(({ text, action, value = "", name = "" }, index) => {
    const button = parent.children[index];
    Object.assign(button.dataset, { action, value });
    button.className = name;
    if (name in BOXES) {
      button.role = "checkbox";
      button.ariaChecked = String(BOXES[name]);
    }
    setText(button, name in BOXES ? text.replace(BOX, "") : text);
  });
}

function inWords(row) {
  return row.filter(Boolean).map(unturned).join(": ");
}
