// The box that words are typed into.

const DRAFT = "kaiwa.draft";

export class Composer {
  /** `handlers`: send(text), edited(). */
  constructor({ composer, box, send }, handlers) {
    this.box = box;
    this.button = send;
    this.handlers = handlers;
    box.value = sessionStorage.getItem(DRAFT) ?? "";
    composer.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("input", () => this.edited());
    addEventListener("pagehide", () => sessionStorage.setItem(DRAFT, box.value));
  }

  focus() {
    this.box.focus();
  }

  /** Put words back that could not be sent, before whatever has been typed since. */
  giveBack(text) {
    this.box.value = [text, this.box.value].filter(Boolean).join("\n");
    this.fit();
  }

  /** Empty the box where it holds just these words. */
  forget(text) {
    if (this.box.value === text) this.box.value = "";
    this.fit();
  }

  submit() {
    const text = this.box.value.trim();
    if (!text) return;
    this.box.value = "";
    this.edited();
    this.handlers.send(text);
  }

  key(event) {
    // Enter also ends the composition of kana; Safari reports that one as key 229 after the composition.
    const composing = event.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || composing) return;
    event.preventDefault();
    this.submit();
  }

  edited() {
    this.fit();
    this.handlers.edited();
  }

  /** As high as its words. */
  fit() {
    this.button.disabled = !this.box.value.trim();
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
  }
}
