// The conversations of this browser, in a drawer: found by their titles and words, opened, renamed and deleted.

import { Finder, folded } from "./finder.js";
import { PENCIL, icon } from "./icon.js";
import { forget, keep, keepAll, kept } from "./kept.js";
import { unturned } from "./turning.js";

const LISTED = "kaiwa.conversations"; // [{ id, title, at, named }]; a person has `named` it
const MOST = 200;
const TITLE_CAP = 80; // characters
const COMMAND = /^[/／]\S*$/;
const BIN = "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.6 9h6.8l.6-9M6.8 7v4M9.2 7v4";

export class Drawer {
  /** `handlers`: open(id); read(id), the messages of one, or null; remove(id), which deletes it on the server and returns what went wrong, in words; removed(id). */
  constructor({ conversations, drawer, close_drawer, find, drawer_notice, listed, none_listed }, words, handlers) {
    this.dialog = drawer;
    this.find = find;
    this.notice = drawer_notice;
    this.list = listed;
    this.none = none_listed;
    this.words = words;
    this.handlers = handlers;
    this.finder = new Finder(handlers.read);
    this.changing = null; // { id, how }: the one that is being renamed or deleted
    conversations.addEventListener("click", () => this.show());
    this.closer = close_drawer;
    close_drawer.addEventListener("click", () => drawer.close());
    drawer.addEventListener("click", ({ target, clientX }) => target === drawer && clientX > drawer.offsetWidth && drawer.close());
    listed.addEventListener("keydown", (event) => this.key(event));
    drawer.addEventListener("close", () => this.finder.begin());
    find.addEventListener("input", () => this.search());
  }

  show() {
    this.changing = null;
    this.find.value = "";
    this.notice.textContent = "";
    this.fill();
    this.dialog.showModal();
  }

  /** List the conversation that is shown, by its first words. Where it begins with a command, such as the one that has deleted
      what was said before, words that follow name it. */
  note(id, items) {
    this.current = id;
    const said = items.filter((item) => item.kind === "user");
    if (!said.length) return;
    const known = listed().find((entry) => entry.id === id);
    const isTitled = known && (known.named || !COMMAND.test(said[0].text));
    const title = isTitled ? known.title : firstWords(said.find(({ text }) => !COMMAND.test(text)) ?? said[0]);
    const at = said.at(-1).at;
    if (known?.at >= at && known.title === title) return;
    keep(LISTED, { ...known, id, title, at }, ["id"], MOST);
  }

  get wanted() {
    return folded(this.find.value.trim());
  }

  fill() {
    const { wanted } = this;
    const found = listed().filter(({ id, title }) => folded(title).includes(wanted) || this.finder.excerpt(id, wanted));
    this.list.replaceChildren(...found.map((entry) => this.item(entry)));
    this.none.hidden = found.length > 0;
  }

  search() {
    this.fill();
    const ids = listed().map(({ id }) => id);
    this.finder.find(this.wanted, ids, (id) => this.add(id, ids));
  }

  /** One more is found: it stands where it stands among all. */
  add(id, ids) {
    const entry = listed().find((one) => one.id === id);
    const items = [...this.list.children];
    const same = items.find((item) => item.dataset.id === id);
    if (!entry || same?.contains(document.activeElement)) return;
    const next = items.find((item) => ids.indexOf(item.dataset.id) > ids.indexOf(id));
    if (same) same.replaceWith(this.item(entry));
    else this.list.insertBefore(this.item(entry), next ?? null);
    this.none.hidden = true;
  }

  item(entry) {
    const item = document.createElement("li");
    item.dataset.id = entry.id;
    const how = this.changing?.id === entry.id ? this.changing.how : "";
    if (how === "rename") item.append(this.nameForm(entry));
    else if (how === "delete") item.append(...this.question(entry));
    else item.append(this.opener(entry), this.changer(entry, "rename", PENCIL), this.changer(entry, "delete", BIN));
    return item;
  }

  opener({ id, title, at }) {
    const button = this.button("", () => {
      this.dialog.close();
      this.handlers.open(id);
    });
    button.className = "open";
    if (id === this.current) button.ariaCurrent = "true";
    const name = button.appendChild(document.createElement("span"));
    name.textContent = title;
    button.appendChild(document.createElement("time")).textContent = this.words.moment(at);
    const excerpt = unturned(this.finder.excerpt(id, this.wanted));
    if (excerpt) button.appendChild(document.createElement("q")).textContent = excerpt;
    return button;
  }

  changer({ id, title }, how, path) {
    const button = this.button("", () => this.change({ id, how }));
    button.className = how;
    button.append(icon(path));
    const label = how === "rename" ? "rename_conversation" : "delete_conversation";
    button.ariaLabel = button.title = this.words.say(label, { title });
    return button;
  }

  nameForm({ id, title }) {
    const form = document.createElement("form");
    const input = form.appendChild(document.createElement("input"));
    input.value = title;
    input.maxLength = TITLE_CAP;
    input.ariaLabel = this.words.say("conversation_title");
    const save = form.appendChild(this.button(this.words.say("save")));
    save.type = "submit";
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.rename(id, input.value);
    });
    return form;
  }

  question({ id, title }) {
    const asked = document.createElement("p");
    asked.id = "asked_to_delete";
    asked.textContent = this.words.say("delete_question", { title });
    const remove = this.button(this.words.say("delete"), () => this.remove(id));
    remove.className = "danger";
    const leave = this.button(this.words.say("keep"), () => this.change(null));
    leave.className = "leave";
    leave.setAttribute("aria-describedby", asked.id);
    return [asked, remove, leave];
  }

  button(text, press) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    if (press) button.addEventListener("click", press);
    return button;
  }

  /** Escape leaves what is being changed, and the drawer open. */
  key(event) {
    if (event.key !== "Escape" || event.isComposing || !this.changing) return;
    event.preventDefault();
    this.change(null);
  }

  /** Begin to rename or delete one, or leave that (null): the focus goes back to where it came from, or to what is there now. */
  change(changing) {
    const left = this.changing;
    const at = [...this.list.children].findIndex((item) => item.dataset.id === left?.id);
    this.changing = changing;
    this.notice.textContent = "";
    this.fill();
    const items = [...this.list.children];
    const same = items.find((item) => item.dataset.id === (changing ?? left)?.id);
    const back = () => same?.querySelector(`.${left.how}`) ?? items[Math.min(at, items.length - 1)]?.querySelector(".open");
    // Whoever holds the key down that asks does not delete.
    const place = changing ? same?.querySelector("form input, .leave") : back();
    (place ?? this.closer).focus();
    place?.select?.();
  }

  rename(id, title) {
    const wanted = oneLine(title);
    const renamed = (entry) => (entry.id === id ? { ...entry, title: wanted, named: true } : entry);
    if (wanted) keepAll(LISTED, listed().map(renamed));
    this.change(null);
  }

  async remove(id) {
    const problem = await this.handlers.remove(id);
    if (problem) {
      this.notice.textContent = problem;
      return;
    }
    forget(LISTED, id);
    this.handlers.removed(id);
    if (this.changing?.id === id) this.change(null);
    else this.fill();
  }
}

function listed() {
  return kept(LISTED).filter(({ id, title }) => id && typeof title === "string");
}

function firstWords({ text, files = [] }) {
  return oneLine(text) || oneLine(files[0]?.text ?? "") || "…";
}

function oneLine(text) {
  const words = unturned(text).split(/\s+/).filter(Boolean).join(" ");
  return [...words].slice(0, TITLE_CAP).join("");
}
