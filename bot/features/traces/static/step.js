// A step of a turn: a row of the waterfall, which opens.

import { button, make } from "./text.js";
import { tree } from "./tree.js";

const COMPARED = ["request", "response"];

export class Step {
  constructor(page, turn, step) {
    this.page = page;
    this.words = page.words;
    this.turn = turn;
    this.step = step;
    this.path = `/inside/turns/${turn.id}/steps/${encodeURIComponent(step.share)}/${step.number}`;
    this.panel = make("div", "panel");
    this.panel.hidden = true;
    this.element = make("li", step.kind, this.head(), this.panel);
  }

  say(key, values) {
    return this.words.say(key, values);
  }

  head() {
    const { kind, name, outcome, began, ms, lost } = this.step;
    const head = button("step", "", () => this.toggle());
    head.ariaExpanded = "false";
    const label = make("span", "label", make("b", "", this.say(`kind_${kind}`)), " ", name);
    if (outcome) label.append(" ", make("span", `badge ${outcome}`, outcome));
    if (lost) label.append(" ", make("span", "badge lost", this.say("no_answer")));
    const bar = make("i", "bar");
    const { whole } = this.turn;
    bar.style.left = `${Math.min((began / whole) * 100, 99)}%`;
    bar.style.width = `${Math.min(Math.max((ms / whole) * 100, 0.5), 100)}%`;
    const track = make("span", "track", bar);
    head.append(make("span", "began", `+${this.words.duration(began)}`), label, track, make("span", "took", ms ? this.words.duration(ms) : ""));
    this.button = head;
    return head;
  }

  async toggle() {
    const opens = this.panel.hidden;
    this.panel.hidden = !opens;
    this.button.ariaExpanded = String(opens);
    if (!opens) return;
    const facts = this.facts();
    this.panel.replaceChildren(facts);
    if (!this.page.server.token) {
      this.panel.append(make("p", "note", this.say(this.page.listing?.readable === false ? "words_off" : "words_locked")));
      return;
    }
    const words = await this.ask();
    if (words && facts.isConnected) this.panel.append(...this.contents(words)); // not opened again since
  }

  /** The words, or a line in their place. */
  async ask(query = "") {
    try {
      return await this.page.server.ask(this.path + query);
    } catch (error) {
      this.panel.append(make("p", "note", error.message));
      return null;
    }
  }

  facts() {
    const list = make("dl", "facts");
    for (const [name, value] of Object.entries(this.step.facts)) {
      const text = typeof value === "number" ? value.toLocaleString(this.words.locale) : value;
      list.append(make("div", "", make("dt", "", this.say(`fact_${name}`)), make("dd", "", text)));
    }
    return list;
  }

  contents(words) {
    const { kind } = this.step;
    const found = [];
    if (words.who) found.push(this.block("who", words.who));
    if (words.text) found.push(this.block("text", words.text));
    if (kind === "call") found.push(this.call(words));
    if (COMPARED.includes(kind)) found.push(...this.body(words));
    if (words.damaged) found.push(make("p", "note", this.say("damaged")));
    return found;
  }

  block(key, text) {
    return make("section", "block", make("h3", "", this.say(key)), make("pre", "", text));
  }

  /** Arguments and result side by side. */
  call({ arguments: given, made, result }) {
    const sides = make("div", "sides", this.side("arguments", given));
    if (made) sides.append(this.side("made", made));
    sides.append(this.side("result", result));
    return sides;
  }

  side(key, text) {
    const side = make("section", "block", make("h3", "", this.say(key)));
    const value = parsed(text);
    side.append(value === undefined ? make("pre", "", text) : make("pre", "", JSON.stringify(value, null, 2)));
    return side;
  }

  /** A request or response: its parts, then its bytes. */
  body(words) {
    const isRequest = this.step.kind === "request";
    const found = [];
    if (words.incomplete) return [make("p", "note", this.say("incomplete"))];
    const value = isRequest ? parsed(words.body) : parsedLines(words.body);
    if (value !== undefined) {
      const title = make("h3", "", this.say(isRequest ? "sent_parts" : "back_parts"));
      found.push(make("section", "block", title, tree(value, { more: this.say("more_members") })));
    }
    if (words.cached) found.push(this.cached(words.cached));
    const raw = make("pre", "raw", words.body);
    raw.tabIndex = 0;
    found.push(make("section", "block", make("h3", "", this.say(isRequest ? "sent_raw" : "back_raw")), raw));
    if (words.is_cut) found.push(make("p", "note", this.say("is_cut")));
    found.push(this.orders());
    if (isRequest) found.push(this.again());
    return found;
  }

  /** What the vendor kept of a request. */
  cached(text) {
    const value = parsed(text);
    const shown = value === undefined ? make("pre", "", text) : tree(value, { more: this.say("more_members") });
    return make("section", "block", make("h3", "", this.say("sent_cached")), shown);
  }

  orders() {
    const place = make("div", "difference");
    const compare = (against) => button("quiet", this.say(`against_${against}`), () => this.compare(against, place));
    const name = `${this.turn.id}-${this.step.kind}-${this.step.number}.txt`;
    const save = button("quiet", this.say("download"), () =>
      this.page.attempt(() => this.page.server.download(`${this.path}/raw`, name)),
    );
    return make("section", "", make("p", "orders", save, compare("step"), compare("turn")), place);
  }

  async compare(against, place) {
    const words = await this.ask(`?against=${against}`);
    if (!words) return;
    const { difference } = words;
    if (!difference) {
      place.replaceChildren(make("p", "note", this.say("nothing_before")));
      return;
    }
    const lines = make("pre", "lines");
    const add = (kind, mark, texts) => lines.append(...texts.map((text) => make("span", kind, `${mark} ${text}\n`)));
    add("same", " ", [this.say("same_lines", { count: difference.same_before })]);
    add("gone", "−", difference.gone);
    add("new", "+", difference.new);
    if (difference.more) add("same", " ", [this.say("more_lines", { count: difference.more })]);
    add("same", " ", [this.say("same_lines", { count: difference.same_after })]);
    place.replaceChildren(make("h3", "", this.say(`against_${against}`)), lines);
  }

  /** This request once more, of a model that is named before the press. */
  again() {
    const models = this.page.listing?.models ?? [];
    const choice = make("select", "", ...models.map((name) => new Option(name, name)));
    choice.ariaLabel = this.say("model");
    const answer = make("div", "answer");
    answer.setAttribute("role", "status");
    const ask = button("", "", async () => {
      ask.disabled = true;
      answer.replaceChildren(make("p", "note", this.say("asking")));
      await this.askAgain(choice.value, answer);
      ask.disabled = false;
    });
    const name = () => ask.replaceChildren(this.say("ask_model", { model: choice.value }));
    choice.addEventListener("change", name);
    name();
    const title = make("h3", "", this.say("again"));
    return make("section", "block again", title, make("p", "note", this.say("again_note")), make("p", "orders", choice, ask), answer);
  }

  async askAgain(model, place) {
    try {
      const answer = await this.page.server.ask(`${this.path}/again`, { model });
      const about = [answer.model, answer.stop_reason, this.say("tokens", { count: answer.tokens.toLocaleString(this.words.locale) })];
      if (answer.usd) about.push(this.page.money(answer.usd));
      place.replaceChildren(make("p", "note", about.join(" · ")), make("pre", "", answer.text + answer.calls));
    } catch (error) {
      place.replaceChildren(make("p", "note", error.message));
    }
  }
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The events of a response, one a line; undefined where one is no JSON. */
function parsedLines(text) {
  const values = text.split("\n").filter(Boolean).map(parsed);
  return values.length && values.every((value) => value !== undefined) ? values : undefined;
}
