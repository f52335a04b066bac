// The card of a poll: its question, a button for each option with its votes, and one that closes it.

import { unturned } from "./turning.js";

/** The parts of a card. */
export function createPoll(make) {
  const card = make("div", "card");
  card.role = "group";
  card.append(make("p", "ask"), make("p", "choices"), make("p", "hint"), make("p", "choices"));
  return [make("span", "mark"), card];
}

/** Show a poll { id, question, options, counts, status, close } as it stands; without `close` it is closed. */
export function updatePoll(element, poll, make, setText) {
  const [, card] = element.children;
  const [question, options, status, closing] = card.children;
  element.dataset.poll = poll.id;
  card.ariaLabel = unturned(poll.question);
  setText(question, unturned(poll.question));
  fill(options, poll.options.length, make);
  fill(closing, 1, make);
  [...options.children].forEach((button, index) => {
    button.dataset.choice = index + 1;
    setText(button, `${unturned(poll.options[index])}: ${poll.counts[index]}`);
    button.disabled = !poll.close;
  });
  setText(status, poll.status);
  closing.firstChild.dataset.choice = 0;
  setText(closing.firstChild, poll.close);
  closing.hidden = !poll.close;
}

/** The vote that a click makes, { poll, choice }; nothing where the click was elsewhere. */
export function voteIn(target) {
  const button = target.closest?.("[data-choice]");
  return button ? { poll: button.closest("[data-poll]").dataset.poll, choice: Number(button.dataset.choice) } : null;
}

function fill(parent, count, make) {
  while (parent.children.length < count) parent.appendChild(make("button")).type = "button";
}
