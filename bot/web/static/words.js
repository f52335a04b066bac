// The page's words in the language that was chosen, else the browser's, else the bot's.

const CHOICE = "kaiwa.language";

export class Words {
  constructor(catalogue, fallback) {
    this.catalogue = catalogue;
    const wanted = [localStorage.getItem(CHOICE), ...navigator.languages.map((tag) => tag.slice(0, 2)), fallback];
    this.language = wanted.find((language) => language in catalogue);
  }

  get other() {
    return Object.keys(this.catalogue).find((language) => language !== this.language);
  }

  /** The browser's own tag where it is of this language: British dates for a British reader. */
  get locale() {
    return navigator.languages.find((tag) => tag.startsWith(this.language)) ?? this.language;
  }

  choose(language) {
    this.language = language;
    localStorage.setItem(CHOICE, language);
  }

  /** One sentence, its `{fields}` filled in. */
  say(key, values = {}) {
    return this.catalogue[this.language][key].replace(/\{(\w+)\}/g, (_, field) => values[field]);
  }

  /** Put words into everything under `root` that names them: data-text, data-label, data-placeholder. */
  fill(root, values) {
    for (const element of root.querySelectorAll("[data-text]")) element.textContent = this.say(element.dataset.text, values);
    for (const element of root.querySelectorAll("[data-label]")) {
      element.ariaLabel = this.say(element.dataset.label, values);
      if (element.tagName === "BUTTON") element.title = element.ariaLabel;
    }
    for (const element of root.querySelectorAll("[data-placeholder]")) {
      element.placeholder = this.say(element.dataset.placeholder, values);
    }
  }

  /** A day in words, without the year where it is this one. */
  day(at) {
    const date = new Date(at);
    const year = date.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
    return date.toLocaleDateString(this.locale, { year, month: "long", day: "numeric", weekday: "long" });
  }

  time(at) {
    return new Date(at).toLocaleTimeString(this.locale, { hour: "numeric", minute: "2-digit" });
  }

  /** A time of today, else a day. */
  moment(at) {
    const date = new Date(at);
    if (date.toDateString() === new Date().toDateString()) return this.time(at);
    return date.toLocaleDateString(this.locale, { dateStyle: "medium" });
  }

  duration(ms) {
    const [value, unit] = ms < 1000 ? [ms, "ms"] : [ms / 1000, "s"];
    return `${value.toLocaleString(this.locale, { maximumFractionDigits: 1 })} ${unit}`;
  }
}
