// Files that go with the next message: chosen, pasted or dropped, and uploaded at once.

import { randomId } from "./conversation.js";

const MOST = 4;
const MIB = 1024 * 1024;
const OF_OFFICE = ["text/plain", "text/html"]; // words copied from a document come with a picture of themselves

export class Attachments {
  /** `handlers`: upload(entry), which returns { problem } or { path }; changed(); complain(text). */
  constructor({ box, attach, picker, camera, camera_picker, attached }, words, most, handlers) {
    this.list = attached;
    this.words = words;
    this.mostBytes = most;
    this.handlers = handlers;
    this.entries = []; // { ref, name, mime, size, path, text, file, done }
    for (const [button, input] of [[attach, picker], [camera, camera_picker]]) {
      button.addEventListener("click", () => input.click());
      input.addEventListener("change", () => {
        this.add([...input.files]);
        input.value = "";
      });
    }
    box.addEventListener("paste", (event) => this.paste(event));
    addEventListener("dragover", (event) => this.drag(event));
    addEventListener("drop", (event) => this.drop(event));
  }

  /** Whether a file is still on its way to the server. */
  get busy() {
    return this.entries.some((entry) => !entry.done);
  }

  get isEmpty() {
    return this.entries.length === 0;
  }

  /** The files, which are the message's from now on. */
  take() {
    const taken = this.entries.map(({ ref, name, mime, size, path, text }) => ({ ref, name, mime, size, path, text }));
    this.clear();
    return taken;
  }

  /** Put files back that could not be sent. */
  giveBack(files) {
    this.entries = [...files.map((file) => ({ ...file, done: true })), ...this.entries].slice(0, MOST);
    this.show();
  }

  clear() {
    this.entries = [];
    this.show();
  }

  paste(event) {
    const { files, types } = event.clipboardData;
    if (!files.length || OF_OFFICE.every((type) => types.includes(type))) return;
    event.preventDefault();
    this.add([...files]);
  }

  drag(event) {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  }

  drop(event) {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault(); // the browser would leave the page for the file
    this.add([...event.dataTransfer.files]);
  }

  add(files) {
    this.handlers.complain("");
    for (const file of files) {
      const values = { name: file.name, most: MOST, megabytes: this.mostBytes / MIB };
      const isLarge = file.size > this.mostBytes;
      if (isLarge || this.entries.length === MOST) {
        this.handlers.complain(this.words.say(isLarge ? "file_too_large" : "too_many_files", values));
      } else {
        this.upload({ ref: randomId(), name: file.name, text: file.name, path: "", file, done: false });
      }
    }
  }

  async upload(entry) {
    this.entries.push(entry);
    this.show();
    const { problem, ...stored } = await this.handlers.upload(entry);
    Object.assign(entry, stored, { done: true });
    if (problem) {
      this.handlers.complain(problem);
      this.remove(entry);
    }
    this.show();
  }

  remove(entry) {
    this.entries = this.entries.filter((other) => other !== entry);
    this.show();
  }

  show() {
    this.list.hidden = this.isEmpty;
    this.list.replaceChildren(...this.entries.map((entry) => this.item(entry)));
    this.handlers.changed();
  }

  item(entry) {
    const item = document.createElement("li");
    item.ariaBusy = String(!entry.done);
    const name = document.createElement("span");
    name.textContent = entry.name;
    if (entry.path) item.append(preview(entry));
    const button = document.createElement("button");
    button.type = "button";
    button.ariaLabel = button.title = this.words.say("remove_file", { name: entry.name });
    button.textContent = "×";
    button.addEventListener("click", () => this.remove(entry));
    item.append(name, button);
    return item;
  }
}

function preview({ path }) {
  const image = document.createElement("img");
  image.alt = ""; // its name stands beside it
  image.addEventListener("error", () => image.remove());
  image.src = path;
  return image;
}
