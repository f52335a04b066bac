// The page: what is typed goes out, what happens is shown.

import { Conversation, STORED, randomId } from "./conversation.js";
import { Stream } from "./stream.js";
import { View } from "./view.js";
import { Words } from "./words.js";

const CURRENT = "kaiwa.conversation";
const DRAFT = "kaiwa.draft";
const SEND_LIMIT_MS = 15_000;
const TICK_MS = 5000;
const LATE_MS = 15_000; // without a live event the history is asked whether one got lost
const SLOW_MS = 30_000;
const NEAR_PX = 64;

class Page {
  constructor(info, catalogue) {
    this.info = info;
    this.words = new Words(catalogue, info.language);
    this.parts = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
    this.view = new View(this.parts.log, this.words);
    this.stream = new Stream({
      opened: () => this.opened(),
      received: (event) => this.received(event),
      lost: () => this.lost(),
    });
    this.notices = { send: "", link: "", slow: "" };
    this.pinned = true; // the newest words are kept in sight
    this.asked = 0; // numbers the requests for the history: an older answer never replaces a newer one
    this.shown = 0;
    this.newsAt = 0;
  }

  start() {
    this.listen();
    this.speak();
    this.parts.box.value = sessionStorage.getItem(DRAFT) ?? "";
    sessionStorage.removeItem(DRAFT);
    this.enter(localStorage.getItem(CURRENT) ?? randomId());
    setInterval(() => this.tick(), TICK_MS);
    this.parts.page.hidden = false;
    this.resizeBox();
    if (matchMedia("(pointer: fine)").matches) this.parts.box.focus();
  }

  listen() {
    const { parts } = this;
    parts.composer.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    parts.box.addEventListener("keydown", (event) => this.boxKey(event));
    parts.box.addEventListener("input", () => this.edited());
    parts.new.addEventListener("click", () => this.begin());
    parts.language.addEventListener("click", () => this.switchLanguage());
    parts.newest.addEventListener("click", () => this.pin());
    for (const example of parts.examples.querySelectorAll("button")) {
      example.addEventListener("click", () => this.send(example.textContent));
    }
    parts.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    parts.log.addEventListener("toggle", (event) => this.toggled(event.target), true);
    new ResizeObserver(() => this.keepInSight()).observe(parts.scroller);
    addEventListener("keydown", (event) => event.key === "Escape" && this.escape(event));
    addEventListener("popstate", (event) => event.state && this.enter(event.state.conversation));
    addEventListener("storage", (event) => this.storedElsewhere(event));
  }

  /** Put the chosen language everywhere. */
  speak() {
    const { words, parts, info } = this;
    document.documentElement.lang = words.language;
    words.fill(document, { bot_name: info.bot_name });
    parts.language.lang = words.other;
    parts.language.textContent = words.catalogue[words.other].language_name;
    parts.language.title = words.catalogue[words.other].switch_language;
    parts.demo.hidden = !info.demo;
    parts.model.textContent = info.demo ? "" : info.model;
    this.view.clear();
  }

  switchLanguage() {
    this.words.choose(this.words.other);
    this.speak();
    this.render();
  }

  // Conversations

  begin() {
    const id = randomId();
    history.pushState({ conversation: id }, "");
    this.enter(id);
    this.parts.box.focus();
  }

  enter(id) {
    this.conversation = new Conversation(id);
    this.loaded = false;
    this.pinned = true;
    localStorage.setItem(CURRENT, id);
    history.replaceState({ conversation: id }, "");
    this.stream.follow(`/console/${id}/events`);
    this.render();
  }

  storedElsewhere({ key }) {
    if (key !== STORED + this.conversation.id) return;
    this.conversation.readSentAgain();
    this.render();
  }

  // Live events and history

  opened() {
    this.notify("link", "");
    this.conversation.interrupted();
    this.refresh();
  }

  lost() {
    this.notify("link", this.words.say("reconnecting"));
    this.refresh();
  }

  received(event) {
    this.newsAt = performance.now();
    if (event.type === "started") this.recognise(event.user_ids);
    this.conversation.take(event);
    if (event.type === "answered") this.refresh();
    this.render();
  }

  async refresh() {
    const { conversation } = this;
    const number = (this.asked += 1);
    const response = await fetch(`/console/${conversation.id}`, this.asking()).catch(() => null);
    if (response?.status === 401) this.signIn();
    if (!response?.ok) return;
    const { messages } = await response.json();
    if (number < this.shown || conversation !== this.conversation) return;
    this.shown = number;
    this.loaded = true;
    conversation.replaceHistory(messages);
    this.recognise(messages.map((message) => message.id));
    this.render();
  }

  tick() {
    const { conversation } = this;
    const busy = conversation.activity !== "idle";
    if (busy && performance.now() - this.newsAt > LATE_MS) {
      this.newsAt = performance.now();
      this.refresh();
    }
    const slow = conversation.waiting.some((message) => Date.now() - message.at > SLOW_MS);
    this.notify("slow", slow ? this.words.say("slow") : "");
  }

  // Sending

  submit() {
    const text = this.parts.box.value.trim();
    if (!text) return;
    this.parts.box.value = "";
    this.edited();
    this.send(text);
  }

  async send(text) {
    // The same words again have the same id: if the first try arrived after all, they still count once.
    const id = this.returned?.text === text ? this.returned.id : randomId();
    const message = { id, text, at: Date.now() };
    const { conversation } = this;
    this.returned = null;
    this.newsAt = performance.now();
    conversation.send(message);
    this.pin();
    this.render();
    const problem = await this.post(conversation.id, message);
    if (problem) this.giveBack(conversation, message, problem);
  }

  /** Returns what went wrong, in words. */
  async post(conversation, { id, text }) {
    const { words } = this;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const locale = navigator.language.startsWith(words.language) ? navigator.language : words.language;
    const asking = this.asking({ "Content-Type": "application/json" });
    const body = JSON.stringify({ id, text, locale, time_zone: zone });
    const signal = AbortSignal.timeout(SEND_LIMIT_MS);
    const url = `/console/${conversation}/messages`;
    const response = await fetch(url, { ...asking, method: "POST", body, signal }).catch(() => null);
    if (!response) return words.say("unreachable");
    if (response.ok) return "";
    if (response.status === 401) this.signIn(text);
    const { error } = await response.json().catch(() => ({}));
    return error ?? words.say("refused", { status: response.status });
  }

  giveBack(conversation, message, problem) {
    const { box } = this.parts;
    conversation.unsend(message.id);
    this.returned = message;
    box.value = [message.text, box.value].filter(Boolean).join("\n");
    this.resizeBox();
    this.notify("send", problem);
    this.render();
  }

  /** Words given back as unsent turn out to have arrived. */
  recognise(ids) {
    const { returned } = this;
    if (!returned || !ids.includes(returned.id)) return;
    this.returned = null;
    this.notify("send", "");
    if (this.parts.box.value === returned.text) this.parts.box.value = "";
    this.resizeBox();
    this.conversation.send(returned);
  }

  signIn(draft = this.parts.box.value) {
    sessionStorage.setItem(DRAFT, draft);
    location.reload();
  }

  asking(headers = {}) {
    return { headers: { "Accept-Language": this.words.language, ...headers }, cache: "no-store" };
  }

  // Keys

  boxKey(event) {
    // Enter also ends the composition of kana; Safari reports that one as key 229 after the composition.
    const composing = event.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || composing) return;
    event.preventDefault();
    this.submit();
  }

  escape(event) {
    if (event.isComposing) return;
    const open = event.target.closest?.("details[open]");
    if (open) open.open = false;
    (open?.querySelector("summary") ?? this.parts.box).focus();
  }

  edited() {
    this.notify("send", "");
    this.resizeBox();
  }

  resizeBox() {
    const { box, send } = this.parts;
    send.disabled = !box.value.trim();
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight}px`;
  }

  // Showing

  render() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { parts, conversation, words } = this;
    const { items, activity } = conversation;
    this.view.show(items);
    parts.welcome.hidden = items.length > 0 || !this.loaded;
    parts.log.ariaBusy = String(activity !== "idle");
    parts.activity.dataset.state = activity;
    parts.doing.textContent = activity === "thinking" ? words.say("thinking") : "";
    this.keepInSight();
  }

  notify(kind, text) {
    this.notices[kind] = text;
    const shown = Object.values(this.notices).find(Boolean) ?? "";
    if (this.parts.notice.textContent !== shown) this.parts.notice.textContent = shown;
  }

  scrolled() {
    const { scroller, newest } = this.parts;
    this.pinned = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_PX;
    newest.hidden = this.pinned;
  }

  toggled(details) {
    if (details.open) details.scrollIntoView({ block: "nearest" });
    this.scrolled();
  }

  pin() {
    this.pinned = true;
    this.keepInSight();
  }

  keepInSight() {
    const { scroller } = this.parts;
    if (this.pinned) scroller.scrollTop = scroller.scrollHeight;
    this.scrolled();
  }
}

async function fetchJSON(url) {
  const response = await fetch(url);
  return response.json();
}

const [info, catalogue] = await Promise.all(["/console/info", "/static/texts.json"].map(fetchJSON));
new Page(info, catalogue).start();
