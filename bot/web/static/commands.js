// The commands, listed while one is typed behind a slash: the words of both languages, and what each does.

const BEGUN = /^[/／]\S*$/;

export class Commands {
  /** `all`: [{ words: { language: [word] }, about: { language: sentence }, more }]; `more` says that words follow. */
  constructor({ box, commands }, words, all, changed) {
    this.box = box;
    this.list = commands;
    this.words = words;
    this.all = all;
    this.changed = changed;
    this.found = [];
    this.active = 0;
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
    this.list.addEventListener("click", (event) => this.clicked(event.target));
    box.addEventListener("blur", () => this.hide());
  }

  update() {
    const typed = this.box.value.replace("／", "/").toLowerCase();
    const begins = ({ words }) => Object.values(words).flat().some((word) => word.startsWith(typed));
    this.found = BEGUN.test(this.box.value) ? this.all.filter(begins) : [];
    this.active = 0;
    this.show();
  }

  hide() {
    this.found = [];
    this.show();
  }

  /** Whether a key was for the list. */
  key(event) {
    if (!this.found.length || event.isComposing || event.keyCode === 229) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.active = (this.active + step + this.found.length) % this.found.length;
      this.show();
    } else if (event.key === "Escape") {
      this.hide();
    } else if ((event.key === "Enter" && !event.shiftKey && !this.isWhole) || event.key === "Tab") {
      this.choose(this.found[this.active]);
    } else {
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** Whether the active command stands in the box already. */
  get isWhole() {
    const { words, more } = this.found[this.active];
    return !more && Object.values(words).flat().includes(this.box.value.replace("／", "/").toLowerCase());
  }

  clicked(target) {
    const item = target.closest("li");
    if (item) this.choose(this.found[[...this.list.children].indexOf(item)]);
  }

  choose({ words, more }) {
    const [word] = [...(words[this.words.language] ?? []), ...Object.values(words).flat()];
    this.box.value = more ? `${word} ` : word;
    this.changed();
    this.hide();
    this.box.focus();
  }

  show() {
    this.list.hidden = !this.found.length;
    this.list.replaceChildren(...this.found.map((command, index) => this.item(command, index)));
    if (this.list.hidden) this.box.removeAttribute("aria-activedescendant");
    else this.box.setAttribute("aria-activedescendant", `command_${this.active}`);
    this.list.children[this.active]?.scrollIntoView({ block: "nearest" });
  }

  item({ words, about }, index) {
    const item = document.createElement("li");
    item.id = `command_${index}`;
    item.role = "option";
    item.ariaSelected = String(index === this.active);
    const { language, other } = this.words;
    const name = item.appendChild(document.createElement("span"));
    name.textContent = [...(words[language] ?? []), ...(words[other] ?? [])].join(" · ");
    item.appendChild(document.createElement("span")).textContent = about[language];
    return item;
  }
}
