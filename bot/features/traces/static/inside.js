// The page: turns that were found, one of them as a waterfall, and its steps.

import { fetchJSON } from "/static/server.js";
import { Words } from "/static/words.js";
import { Server } from "./server.js";
import { Step } from "./step.js";
import { button, make, visible } from "./text.js";

const ROWS = 100;

class Inside {
  constructor(catalogue) {
    this.words = new Words(catalogue, document.documentElement.lang);
    this.parts = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
    this.server = new Server(this.words);
    this.listing = null;
    this.shown = null; // the turn
    this.asked = 0;
  }

  start() {
    const { filters, unlock, language } = this.parts;
    filters.addEventListener("submit", (event) => {
      event.preventDefault();
      this.find();
    });
    filters.addEventListener("reset", () => setTimeout(() => this.find()));
    filters.addEventListener("change", (event) => {
      if (event.target.name === "rated" && event.target.checked) filters.elements.good.checked = false;
      if (event.target.name === "good" && event.target.checked) filters.elements.rated.checked = false;
      this.find();
    });
    unlock.addEventListener("submit", (event) => {
      event.preventDefault();
      this.unlock();
    });
    language.addEventListener("click", () => {
      this.words.choose(this.words.other);
      this.speak();
    });
    addEventListener("hashchange", () => this.follow());
    this.speak();
    this.find().then(() => this.follow());
  }

  /** Put everything into the chosen language. */
  speak() {
    document.documentElement.lang = this.words.language;
    this.words.fill(document);
    this.parts.language.textContent = this.words.catalogue[this.words.other].this_language;
    this.parts.language.lang = this.words.other;
    if (this.listing) this.list();
    if (this.shown) this.turn();
  }

  /** Try something; what goes wrong is said in a line. */
  async attempt(work) {
    try {
      const done = await work();
      this.complain("");
      return done;
    } catch (error) {
      this.complain(error.message);
      return undefined;
    }
  }

  complain(text) {
    this.parts.problem.textContent = visible(text);
  }

  async unlock() {
    this.server.token = this.parts.token.value.trim();
    const done = await this.attempt(() => this.server.ask("/inside/token", {}));
    if (done === undefined) {
      this.server.token = "";
      return;
    }
    this.parts.token.value = "";
    this.wordsState();
    if (this.shown) this.turn();
  }

  async find() {
    const number = ++this.asked;
    const listing = await this.attempt(() => this.server.ask(`/inside/turns?${this.query()}`));
    if (!listing || number !== this.asked) return;
    this.listing = listing;
    this.list();
  }

  query() {
    const { where, tool, channel, persona, since, until, usd, failed, rated, good } = this.parts.filters.elements;
    const given = { where: where.value.trim(), tool: tool.value.trim(), channel: channel.value.trim(), usd: usd.value };
    given.persona = persona.value.trim();
    given.since = since.value && Date.parse(since.value);
    given.until = until.value && Date.parse(until.value);
    given.failed = failed.checked ? "1" : "";
    given.rated = rated.checked ? "bad" : good.checked ? "good" : "";
    given.rows = ROWS;
    return new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ""));
  }

  wordsState() {
    const { readable, hours } = this.listing;
    const locked = readable && !this.server.token;
    const state = !readable ? "words_off" : locked ? "words_locked" : "words_open";
    this.parts.words_state.textContent = this.words.say(state) + (hours ? "" : ` ${this.words.say("words_not_kept")}`);
    this.parts.token.closest("label").hidden = !locked;
    this.parts.unlock.querySelector("button").hidden = !locked;
  }

  list() {
    const { turns, more, under_way: underWay } = this.listing;
    this.wordsState();
    this.parts.under_way_count.textContent = this.words.say("under_way_count", { count: underWay.count });
    const oldest = this.parts.under_way.querySelector("ol");
    oldest.replaceChildren(...underWay.oldest.map((turn) => make("li", "", this.row(turn))));
    const conversations = Map.groupBy ? Map.groupBy(turns, (turn) => turn.conversation) : grouped(turns);
    this.parts.list.replaceChildren(...[...conversations.values()].map((those) => this.conversation(those)));
    this.parts.more.textContent = turns.length ? (more ? this.words.say("more_turns") : "") : this.words.say("none_found");
    this.mark();
  }

  conversation(turns) {
    const { channel, conversation, place } = turns[0];
    const head = make("h2", "", make("span", "channel", channel));
    for (const digest of new Set([conversation, place].filter(Boolean))) {
      const filter = button("digest quiet", digest.slice(0, 8), () => {
        this.parts.filters.elements.where.value = digest;
        this.find();
      });
      filter.title = this.words.say(digest === conversation ? "only_conversation" : "only_place", { digest });
      filter.ariaLabel = filter.title;
      head.append(filter);
    }
    return make("section", "conversation", head, make("ol", "", ...turns.map((turn) => make("li", "", this.row(turn)))));
  }

  row(turn) {
    const row = make("a", "row", make("time", "", this.when(turn.at)), this.badge(turn));
    row.href = `#${encodeURIComponent(turn.id)}`;
    row.dataset.turn = turn.id;
    for (const rating of turn.ratings) row.append(make("span", `badge ${rating}`, this.words.say(`rated_${rating}`)));
    for (const failure of turn.failures) row.append(make("span", "badge failed", failure));
    row.append(make("span", "what", turn.tools.join(", ")), make("span", "amount", this.amount(turn)));
    return row;
  }

  badge({ state }) {
    return make("span", `badge ${state}`, this.words.say(`state_${state}`));
  }

  when(at) {
    return new Date(at).toLocaleString(this.words.locale, { month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit" });
  }

  amount({ ms, tokens, usd }) {
    const parts = [this.words.duration(ms)];
    if (tokens) parts.push(this.words.say("tokens", { count: tokens.toLocaleString(this.words.locale) }));
    if (usd) parts.push(this.money(usd));
    return parts.join(" · ");
  }

  money(usd) {
    return `$${usd.toLocaleString(this.words.locale, { maximumSignificantDigits: 3 })}`;
  }

  /** Show the turn that the address names. */
  async follow() {
    const { hash } = location;
    if (!hash || hash === "#list") return this.leave();
    const turn = await this.attempt(() => this.server.ask(`/inside/turns/${encodeURIComponent(named(hash))}`));
    if (hash !== location.hash) return undefined; // another turn has been chosen meanwhile
    if (!turn) return this.leave();
    this.shown = turn;
    this.turn();
    this.parts.turn.focus({ preventScroll: true });
    this.parts.turn.scrollIntoView({ block: "start" });
  }

  leave() {
    this.shown = null;
    this.parts.turn.hidden = true;
    document.body.classList.remove("one");
    this.mark();
  }

  mark() {
    for (const row of document.querySelectorAll(".row")) {
      row.ariaCurrent = String(row.dataset.turn === this.shown?.id);
    }
  }

  turn() {
    const turn = this.shown;
    const back = make("a", "back quiet", this.words.say("back"));
    back.href = "#list";
    const head = make("h2", "", make("time", "", this.when(turn.at)), this.badge(turn));
    for (const rating of turn.ratings) head.append(make("span", `badge ${rating}`, this.words.say(`rated_${rating}`)));
    const about = make("p", "about", `${turn.channel} · ${this.amount(turn)} · Kaiwa ${turn.version} · `, make("code", "", turn.id));
    if (turn.persona) about.append(` · ${this.words.say("persona")} `, make("code", "", turn.persona));
    if (turn.shares > 1) about.append(` · ${this.words.say("processes", { count: turn.shares })}`);
    const question = button("quiet", this.words.say("make_question"), () =>
      this.attempt(() => this.server.download(`/inside/turns/${turn.id}/question`, `${turn.id}.toml`, {})),
    );
    question.title = this.words.say("question_note");
    question.disabled = !this.server.token || !turn.words;
    const steps = make("ol", "waterfall", ...turn.steps.map((step) => new Step(this, turn, step).element));
    const parts = [back, head, about, steps, make("p", "orders", question, make("small", "", this.words.say("question_note")))];
    if (turn.state === "lost") parts.splice(3, 0, make("p", "lost", this.words.say("lost_note")));
    this.parts.turn.replaceChildren(...parts);
    this.parts.turn.hidden = false;
    document.body.classList.add("one");
    this.mark();
  }
}

/** The id in an address, which anybody may have written. */
function named(hash) {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return hash.slice(1);
  }
}

function grouped(turns) {
  const groups = new Map();
  for (const turn of turns) groups.set(turn.conversation, [...(groups.get(turn.conversation) ?? []), turn]);
  return groups;
}

new Inside(await fetchJSON("/inside/static/texts.json")).start();
