// The thread on the screen: one element per item, made once and then only changed.

import { showActions } from "./actions.js";
import { showButtons, showCards } from "./card.js";
import { renderMarkdown } from "./markdown.js";
import { createCard, createWaiting, updateCard, updateWaiting } from "./buttons.js";
import { unturned, unturnedJSON } from "./turning.js";

const FILE = /^\/(files\/[0-9a-f]{64}\.(png|jpg)|console\/[\w-]{8,64}\/files\/[\w-]{8,64})$/;
const JAPANESE = /[\u3040-\u30ff]/;

export class View {
  constructor(list, words) {
    this.list = list;
    this.words = words;
    this.elements = new Map(); // key → element
  }

  /** Show these items, in this order, and nothing else. */
  show(items) {
    const keys = new Set(items.map((item) => item.key));
    for (const [key, element] of this.elements) {
      if (keys.has(key)) continue;
      element.remove();
      this.elements.delete(key);
    }
    items.forEach((item, index) => {
      const element = this.elements.get(item.key) ?? this.create(item);
      update[item.kind](element, item, this.words);
      if (this.list.children[index] !== element) this.list.insertBefore(element, this.list.children[index] ?? null);
    });
  }

  clear() {
    this.show([]);
  }

  create({ kind, key }) {
    const element = document.createElement("li");
    element.className = kind;
    element.dataset.key = key;
    element.append(...create[kind]());
    this.elements.set(key, element);
    return element;
  }
}

const create = {
  day: () => [make("time")],
  user: () => [make("p", "words"), make("div", "files")],
  answer: () => [
    make("span", "mark"),
    ...["markdown", "cards", "files", "choices"].map((part) => make("div", part)),
    make("p", "note"),
    make("div", "actions"),
  ],
  tool: () => [make("span", "node"), toolDetails()],
  question: () => createWaiting(make),
  buttons: () => createCard(make),
};

const update = {
  day(element, item, words) {
    element.firstChild.textContent = words.day(item.at);
  },

  user(element, item, words) {
    setText(element.firstChild, unturned(item.text));
    element.firstChild.hidden = !item.text;
    showFiles(element.lastChild, item.files ?? []);
    setLanguage(element, item.text);
    element.title = words.time(item.at);
  },

  answer(element, item, words) {
    const [, body, cards, files, choices, note, actions] = element.children;
    renderMarkdown(body, item.text, (figure, language, text) => addCopy(figure, language, text, words));
    setLanguage(body, item.text);
    showCards(cards, item.cards ?? [], make);
    showFiles(files, item.files ?? []);
    showButtons(choices, item.buttons ?? [], make);
    element.classList.toggle("failed", Boolean(item.failed));
    note.hidden = !item.note;
    setText(note, item.note ? words.say("note", { note: unturned(item.note) }) : "");
    showActions(actions, item, words, make);
  },

  tool(element, { call }, words) {
    const state = stateOf(call);
    element.dataset.state = state;
    const [name, gist, result] = element.querySelectorAll("summary > span");
    setText(name, unturned(call.title || call.name));
    name.title = call.name;
    name.classList.toggle("code", !call.title);
    setText(gist, unturned(gistOf(call.arguments)));
    setText(result, outcome(state, call.ms, words));
    const [given, returned] = element.querySelectorAll("dt");
    setText(given, words.say("arguments"));
    setText(returned, words.say("result"));
    const [shownArguments, shownResult] = element.querySelectorAll("pre");
    setText(shownArguments, unturnedJSON(call.arguments));
    const none = words.say(call.running ? "tool_running" : "no_result");
    setText(shownResult, call.response ? unturnedJSON(call.response) : none);
  },

  question(element, { card }, words) {
    updateWaiting(element, card, words, make, setText);
  },

  buttons(element, { card }) {
    updateCard(element, card, make, setText);
    setLanguage(element, card.title);
  },
};

function toolDetails() {
  const details = make("details");
  const summary = details.appendChild(make("summary"));
  summary.append(make("span", "name"), make("span", "gist"), make("span", "outcome"));
  const list = details.appendChild(make("dl"));
  for (let i = 0; i < 2; i += 1) {
    list.append(make("dt"));
    const pre = list.appendChild(make("dd")).appendChild(make("pre"));
    pre.tabIndex = 0; // scrolled by keyboard
  }
  return details;
}

function stateOf(call) {
  if (call.running) return "running";
  if (call.is_rejected) return "rejected";
  return call.is_error ? "failed" : "done";
}

function outcome(state, ms, words) {
  const told = state === "done" ? "" : words.say(`tool_${state}`);
  const took = ms === undefined ? "" : words.duration(ms);
  return [told, took].filter(Boolean).join(" · ");
}

/** The values of a call in one line, for the closed disclosure. */
function gistOf(values) {
  const plain = Object.values(values).filter((value) => ["string", "number"].includes(typeof value));
  return plain.join(" · ");
}

/** Pictures of an answer or of a message; in place of one that is gone, its words. Paths are the server's own. */
function showFiles(container, files) {
  const shown = JSON.stringify(files);
  container.hidden = !files.length;
  if (container.dataset.shown === shown) return;
  container.dataset.shown = shown;
  container.replaceChildren(...files.map((file) => (FILE.test(file.path) ? picture(file) : words(file))));
}

function picture(file) {
  const link = make("a");
  link.href = file.path;
  link.target = "_blank";
  link.rel = "noopener";
  const image = link.appendChild(make("img"));
  image.alt = unturned(file.text);
  image.addEventListener("error", () => link.replaceWith(words(file)));
  image.src = file.path;
  return link;
}

function words(file) {
  const text = make("pre");
  text.textContent = unturned(file.text);
  text.tabIndex = 0; // scrolled by keyboard
  return text;
}

function addCopy(figure, language, text, words) {
  const caption = make("figcaption");
  caption.append(make("span"));
  caption.firstChild.textContent = language;
  figure.prepend(caption);
  if (!navigator.clipboard) return; // browsers offer it on https and localhost only
  const button = caption.appendChild(make("button"));
  button.type = "button";
  button.textContent = words.say("copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = words.say("copied");
  });
}

/** Han characters look different in Chinese and Japanese fonts: say which where kana show it. */
function setLanguage(element, text) {
  if (JAPANESE.test(text)) element.lang = "ja";
  else element.removeAttribute("lang");
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function make(name, className = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  return element;
}
