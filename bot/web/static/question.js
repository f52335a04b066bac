// The card that asks whether a call may be made. The server makes the arguments safe to show; here each is a line.

/** The parts of a card. */
export function createQuestion(make) {
  const [tool, given, choices] = [make("code", "name"), make("ul"), make("p", "choices")];
  given.tabIndex = 0; // scrolled by keyboard
  for (const decision of ["reject", "allow"]) {
    const button = choices.appendChild(make("button", decision));
    button.type = "button";
    button.dataset.decision = decision;
  }
  const card = make("div", "card");
  card.tabIndex = -1; // keeps the focus when its buttons go
  card.role = "group";
  card.append(make("p", "ask"), tool, given, make("div", "remarks"), make("p", "until"), choices, make("p", "hint"));
  return [make("span", "mark"), card, make("p", "decided")];
}

/** Show a question { id, tool, shown, until, remarks, pressed, over, outcome } as it stands. */
export function updateQuestion(element, question, words, make, setText) {
  const [, card, outcome] = element.children;
  const [ask, tool, given, remarks, until, choices, hint] = card.children;
  element.dataset.question = question.id;
  setText(ask, words.say("ask"));
  card.ariaLabel = `${words.say("ask")} ${question.tool}`;
  setText(tool, question.tool);
  given.hidden = !question.shown;
  if (given.children.length === 0) {
    for (const line of question.shown.split("\n")) given.appendChild(make("li")).textContent = line;
  }
  remarks.hidden = question.remarks.length === 0;
  if (remarks.children.length === 0) {
    for (const remark of question.remarks) remarks.appendChild(make("p")).textContent = remark;
  }
  setText(until, words.say("ask_until", { time: words.time(question.until) }));
  const labels = { reject: words.say("reject"), allow: words.say("allow") };
  for (const button of choices.children) {
    setText(button, labels[button.dataset.decision]);
    button.disabled = question.pressed;
  }
  setText(hint, words.say("ask_hint"));
  card.hidden = question.over;
  outcome.hidden = !question.over;
  setText(outcome, question.over ? question.outcome || words.say("asked_over") : "");
}

/** What was decided by a click, { id, approved }; nothing where the click was elsewhere. */
export function decisionIn(target) {
  const button = target.closest?.("[data-decision]");
  if (!button) return null;
  button.closest(".card").focus();
  return { id: button.closest("[data-question]").dataset.question, approved: button.dataset.decision === "allow" };
}
