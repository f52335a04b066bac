// The box that words are typed into.

const DRAFT = "kaiwa.draft";

export class Composer {
  /** `handlers`: send(text, files, replaces), edited(), stop(), wait(), editLast(). */
  constructor({ composer, box, send, stop, editing, end_edit }, attachments, commands, handlers) {
    this.commands = commands;
    this.isTouched = matchMedia("(pointer: coarse)").matches; // Enter begins a line there: a keyboard of glass has no Shift + Enter
    if (this.isTouched) box.enterKeyHint = "enter";
    this.editing = editing;
    this.replaces = ""; // id of the message that is being edited
    end_edit.addEventListener("click", () => this.endEdit());
    this.attachments = attachments;
    this.box = box;
    this.button = send;
    this.stopButton = stop;
    this.handlers = handlers;
    box.value = sessionStorage.getItem(DRAFT) ?? "";
    composer.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    stop.addEventListener("click", () => this.stop());
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("input", () => this.edited());
    addEventListener("pagehide", () => sessionStorage.setItem(DRAFT, box.value));
  }

  focus() {
    this.box.focus();
  }

  /** Take up a message again, to be sent in place of what it was. */
  edit({ id, text }) {
    if (!this.replaces) this.draft = this.box.value;
    this.replaces = id;
    this.editing.hidden = false;
    this.box.value = text;
    this.fit();
    this.focus();
  }

  endEdit() {
    if (!this.replaces) return;
    this.replaces = "";
    this.editing.hidden = true;
    this.box.value = this.draft;
    this.fit();
    this.focus();
  }

  /** Put words and files back that could not be sent, before whatever has been added since. */
  giveBack(text, files) {
    this.attachments.giveBack(files);
    this.box.value = [text, this.box.value].filter(Boolean).join("\n");
    this.fit();
  }

  /** Empty the box where it holds just these words, and drop these files. */
  forget(text, files) {
    if (this.box.value === text) this.box.value = "";
    const refs = files.map((file) => file.ref);
    for (const entry of this.attachments.entries.filter(({ ref }) => refs.includes(ref))) this.attachments.remove(entry);
    this.fit();
  }

  /** Offer to stop the turn under way, or do not any more. */
  offerStop(offered) {
    const { stopButton } = this;
    if (stopButton.hidden === !offered) return;
    const focused = document.activeElement === stopButton;
    stopButton.hidden = !offered;
    stopButton.disabled = false;
    this.fit();
    if (focused && matchMedia("(pointer: fine)").matches) this.focus();
  }

  /** The wish to stop did not arrive. */
  stopAgain() {
    this.stopButton.disabled = false;
  }

  stop() {
    if (this.stopButton.hidden || this.stopButton.disabled) return;
    if (matchMedia("(pointer: fine)").matches) this.focus(); // a disabled button would lose it
    this.stopButton.disabled = true;
    this.handlers.stop();
  }

  submit() {
    const text = this.box.value.trim();
    if (!text && this.attachments.isEmpty) return;
    if (this.attachments.busy) {
      this.handlers.wait();
      return;
    }
    const { replaces } = this;
    if (replaces) this.endEdit();
    else this.box.value = "";
    this.edited();
    this.handlers.send(text, this.attachments.take(), replaces);
  }

  key(event) {
    if (this.commands.key(event)) return;
    // Enter also ends the composition of kana, and Escape gives it up; Safari reports these as key 229 afterwards.
    const composing = event.isComposing || event.keyCode === 229;
    if (event.key === "ArrowUp" && !this.box.value && !composing) {
      event.preventDefault();
      this.handlers.editLast();
    }
    if (event.key === "Escape" && !composing) {
      if (this.replaces) this.endEdit();
      else this.stop();
    }
    if (event.key !== "Enter" || event.shiftKey || composing || this.isTouched) return;
    event.preventDefault();
    this.submit();
  }

  edited() {
    this.fit();
    this.commands.update();
    this.handlers.edited();
  }

  /** As high as its words. */
  fit() {
    this.button.disabled = !this.box.value.trim() && this.attachments.isEmpty;
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
  }
}
