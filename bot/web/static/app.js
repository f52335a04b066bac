// The page: what is typed goes out, what happens is shown.

import { Attachments } from "./attachments.js";
import { Background } from "./background.js";
import { Commands } from "./commands.js";
import { Composer } from "./composer.js";
import { Conversation, STORED, randomId } from "./conversation.js";
import { Drawer } from "./drawer.js";
import { Letters } from "./letters.js";
import { pressIn } from "./buttons.js";
import { forgetRatings } from "./ratings.js";
import { Recorder } from "./recorder.js";
import { Server, fetchJSON } from "./server.js";
import { Stream } from "./stream.js";
import { Ticks } from "./ticks.js";
import { View } from "./view.js";
import { Words } from "./words.js";

const [SAY, STOP] = ["message.say", "turn.stop"]; // actions: of buttons that say something, and of the page's own button
const RESET = "/reset"; // deletes a conversation on the server, in every language
const RATE = "feedback."; // how the actions of ratings begin
const CURRENT = "kaiwa.conversation";
const TICK_MS = 1000;
const STARTERS = 6;
const STILL_MS = 8000;
const LATE_MS = 15_000; // without a live event the history is asked whether one got lost
const SLOW_MS = 30_000;
const RESTING_MS = 60_000; // while nobody looks, the history is asked once in so long
const NEAR_PX = 64;

class Page {
  constructor(info, catalogue) {
    this.info = info;
    this.words = new Words(catalogue, info.language);
    this.parts = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
    this.view = new View(this.parts.log, this.words);
    this.ticks = new Ticks(this.parts.log);
    this.server = new Server(this.words, () => location.reload());
    this.attachments = new Attachments(this.parts, this.words, info.most_file_bytes, {
      upload: (entry) => this.server.upload(this.conversation.id, entry),
      changed: () => this.composer?.fit(),
      complain: (text) => this.notify("send", text),
    });
    const commands = new Commands(this.parts, this.words, info.commands, () => this.composer.edited());
    this.composer = new Composer(this.parts, this.attachments, commands, {
      send: (text, files, replaces) => this.send(text, files, replaces),
      editLast: () => this.editLast(),
      edited: () => ["send", "told"].forEach((kind) => this.notify(kind, "")),
      stop: () => this.stop(),
      wait: () => this.notify("send", this.words.say("uploading")),
    });
    this.letters = new Letters(this.parts, this.words, this.server, () => this.composer.focus());
    this.drawer = new Drawer(this.parts, this.words, {
      open: (id) => this.open(id),
      read: async (id) => (await this.server.history(id))?.messages ?? null,
      remove: (id) => this.server.send(id, { id: randomId(), text: RESET }),
      removed: (id) => this.removed(id),
    });
    this.background = new Background(this.parts, this.words);
    this.recorder = new Recorder(this.parts, this.words, {
      recorded: (file) => this.attachments.add([file]),
      complain: (text) => this.notify("send", text),
    });
    this.stream = new Stream({
      opened: () => this.opened(),
      received: (event) => this.received(event),
      lost: () => this.lost(),
    });
    this.notices = { send: "", link: "", slow: "", told: "" };
    this.pinned = true; // the newest words are kept in sight
    this.asked = 0; // numbers the requests for the history: an older answer never replaces a newer one
    this.shown = 0;
    this.newsAt = 0;
  }

  start() {
    this.listen();
    this.speak();
    this.enter(localStorage.getItem(CURRENT) ?? randomId());
    setInterval(() => this.tick(), TICK_MS);
    this.letters.start();
    this.parts.page.hidden = false;
    this.composer.fit();
    if (matchMedia("(pointer: fine)").matches) this.composer.focus();
  }

  listen() {
    const { parts } = this;
    parts.new.addEventListener("click", () => this.begin());
    parts.language.addEventListener("click", () => this.switchLanguage());
    parts.newest.addEventListener("click", () => this.pin());
    parts.signout.addEventListener("click", async () => this.notify("send", await this.server.signOut()));
    parts.examples.addEventListener("click", ({ target }) => {
      if (target.tagName === "BUTTON") this.send(target.textContent);
    });
    parts.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    parts.log.addEventListener("click", (event) => this.clicked(event.target));
    parts.log.addEventListener("toggle", (event) => this.toggled(event.target), true);
    parts.log.addEventListener("load", () => this.keepInSight(), true); // of a picture
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
    parts.signout.hidden = !info.signs_out;
    this.letters.show();
    this.offerStarters();
    this.recorder.show();
    parts.model.textContent = info.demo ? "" : info.model;
    this.view.clear();
  }

  /** What may be asked of the tools that are on: all of it, or some of it, drawn anew at each visit. */
  offerStarters() {
    const all = this.info.starters[this.words.language] ?? [];
    this.drawn ??= drawn(all.length, STARTERS);
    const items = this.drawn.map((index) => {
      const item = document.createElement("li");
      const button = item.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = all[index];
      return item;
    });
    this.parts.examples.replaceChildren(...items);
  }

  switchLanguage() {
    this.words.choose(this.words.other);
    this.speak();
    this.render();
    this.refresh(null); // for the titles of tools
  }

  // Conversations

  begin() {
    this.open(randomId());
  }

  open(id) {
    if (id !== this.conversation.id) {
      history.pushState({ conversation: id }, "");
      this.enter(id);
    }
    if (matchMedia("(pointer: fine)").matches) this.composer.focus();
  }

  /** A conversation is deleted. */
  removed(id) {
    localStorage.removeItem(STORED + id);
    this.ticks.forget(id);
    forgetRatings(id);
    if (id === this.conversation.id) this.enter(randomId()); // nothing leads back to it
  }

  enter(id) {
    if (this.conversation?.id !== id) {
      this.attachments.clear(); // they were uploaded to the other one
      this.composer.endEdit();
    }
    this.conversation = new Conversation(id);
    this.heardAt = performance.now();
    this.loaded = false;
    this.pinned = true;
    localStorage.setItem(CURRENT, id);
    history.replaceState({ conversation: id }, "");
    this.stream.follow(`/console/${id}/events`);
    for (const message of this.conversation.unsure) this.deliver(message);
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
    this.newsAt = this.heardAt = performance.now();
    if (event.type === "started") this.recognise(event.user_ids);
    if (event.type === "noticed") {
      this.notify("told", event.text);
      this.refresh(); // a press may have come too late
    }
    this.conversation.take(event);
    if (event.type === "answered" || event.type === "noticed") this.background.came(event.text);
    if (event.type === "card" && event.until) this.background.came(this.words.say("ask"));
    if (event.type === "answered") this.refresh();
    this.render();
  }

  /** Ask for what came after an entry of the history; without one, for all of it. */
  async refresh(after = this.conversation.history.at(-1)?.id) {
    const { conversation } = this;
    const number = (this.asked += 1);
    const then = conversation.snapshot;
    const news = await this.server.history(conversation.id, after);
    if (!news || number < this.shown || conversation !== this.conversation) return;
    this.shown = number;
    this.loaded = true;
    const answers = news.messages.filter((message) => message.role === "model" && message.text);
    if (this.stream.rests && !news.whole && answers.length) this.background.came(answers.at(-1).text);
    this.recognise(news.messages.map((message) => message.id));
    conversation.learn(news, then);
    this.render();
  }

  tick() {
    const { conversation } = this;
    if (conversation.activity !== "idle" && performance.now() - this.newsAt > LATE_MS) {
      this.newsAt = performance.now();
      conversation.forgetHalfway();
      this.refresh();
    }
    const late = conversation.pending.some((message) => Date.now() - message.at > SLOW_MS);
    const slow = late && conversation.activity !== "asked";
    this.notify("slow", slow ? this.words.say("slow") : "");
    if (conversation.activity === "thinking") this.render();
    if (this.stream.rests && performance.now() - this.newsAt > RESTING_MS) {
      this.newsAt = performance.now();
      this.refresh();
    }
  }

  // Sending

  /** `replaces` is the id of an earlier message, which is answered no more. */
  send(text, files = [], replaces = "") {
    // The same words again have the same id: if the first try arrived after all, they still count once.
    const id = this.returned && sameWords(this.returned, { text, files }) ? this.returned.id : randomId();
    this.returned = null;
    this.newsAt = this.heardAt = performance.now();
    this.pinned = true;
    if (replaces) this.conversation.takeBack(replaces);
    this.conversation.send({ id, text, files, replaces, at: Date.now() });
    this.deliver({ id, text, files, replaces });
    this.render();
  }

  async deliver(message) {
    const { conversation } = this;
    const problem = await this.server.send(conversation.id, message);
    if (!problem) {
      conversation.accepted(message.id);
      return;
    }
    this.returned = message;
    conversation.unsend(message.id);
    if (message.replaces) {
      conversation.putBack(message.replaces);
      this.composer.edit({ id: message.replaces, text: "" });
      this.refresh(null);
    }
    this.composer.giveBack(message.text, (message.files ?? []).filter((file) => file.ref));
    this.notify("send", problem);
    this.render();
  }

  async clicked(target) {
    if (target.closest(".actions .again")) this.tryAgain();
    if (target.closest(".actions .edit")) this.editLast();
    const press = pressIn(target);
    if (press?.action.startsWith(RATE)) this.rate(press);
    else if (press?.action === SAY) this.send(press.value);
    else if (press) this.press(press);
  }

  async press(press) {
    const { conversation } = this;
    conversation.press(press.value, true);
    this.notify("send", "");
    this.render();
    const problem = await this.server.press(conversation.id, press);
    if (conversation === this.conversation) this.refresh(); // what it changed, or that it was decided elsewhere
    if (!problem) return;
    conversation.press(press.value, false);
    this.notify("send", problem);
    this.render();
  }

  tryAgain() {
    const { id, text, files } = this.conversation.lastSaid;
    this.send(text, files, id);
  }

  editLast() {
    const said = this.conversation.lastSaid;
    if (said) this.composer.edit(said);
  }

  async rate({ action, value }) {
    const { conversation } = this;
    const before = conversation.rate(value, action);
    this.render();
    const problem = await this.server.press(conversation.id, { action, value });
    if (!problem) return;
    await new Promise(requestAnimationFrame); // none comes where the page is left, which breaks requests off
    conversation.rate(value, before);
    this.notify("send", problem);
    this.render();
  }

  async stop() {
    this.notify("send", "");
    const { conversation } = this;
    const waiting = conversation.waiting.map((message) => message.id);
    const problem = await this.server.press(conversation.id, { action: STOP });
    if (problem) {
      this.composer.stopAgain();
      this.notify("send", problem);
    } else {
      conversation.dismiss(waiting);
      this.render();
    }
  }

  /** Words given back as unsent turn out to have arrived. */
  recognise(ids) {
    const { returned } = this;
    if (!returned || !ids.includes(returned.id)) return;
    this.returned = null;
    this.notify("send", "");
    this.composer.forget(returned.text, returned.files ?? []);
    this.conversation.send({ ...returned, at: Date.now(), accepted: true });
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
    this.ticks.show(conversation.id);
    this.drawer.note(conversation.id, items);
    parts.welcome.hidden = items.length > 0 || !this.loaded;
    const isBusy = activity !== "idle" && activity !== "asked";
    parts.spoken.ariaBusy = parts.log.ariaBusy = String(isBusy);
    this.composer.offerStop(isBusy);
    parts.activity.dataset.state = activity;
    const isLate = performance.now() - this.heardAt > STILL_MS;
    const doing = activity === "thinking" ? words.say(isLate ? "still_trying" : "thinking") : "";
    if (parts.doing.textContent !== doing) parts.doing.textContent = doing;
    this.keepInSight();
  }

  notify(kind, text) {
    this.notices[kind] = text;
    const [shownKind, shown] = Object.entries(this.notices).find(([, notice]) => notice) ?? ["", ""];
    this.parts.notice.dataset.kind = shownKind;
    if (this.parts.notice.textContent !== shown) this.parts.notice.textContent = shown;
  }

  escape(event) {
    if (event.isComposing || this.parts.drawer.open) return;
    const open = event.target.closest?.("details[open]");
    if (open) open.open = false;
    (open?.querySelector("summary") ?? this.parts.box).focus();
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

/** Some of so many numbers from 0 on, in their order. */
function drawn(count, most) {
  const numbers = [...Array(count).keys()];
  while (numbers.length > most) numbers.splice(Math.floor(Math.random() * numbers.length), 1);
  return numbers;
}

function sameWords(one, other) {
  const [refs, otherRefs] = [one, other].map(({ files = [] }) => files.map((file) => file.ref).join());
  return one.text === other.text && refs === otherRefs;
}

new Page(...(await Promise.all(["/console/info", "/static/texts.json"].map(fetchJSON)))).start();
