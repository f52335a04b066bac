// The live events of a conversation: an EventSource that comes back by itself and rests while nobody looks.

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8000;
const REST_AFTER_MS = 60_000; // browsers allow few open streams per site, and every tab takes one

export class Stream {
  /** `handlers`: opened(), received(event), lost(). */
  constructor(handlers) {
    this.handlers = handlers;
    this.delay = FIRST_DELAY_MS;
    addEventListener("online", () => this.wake());
    addEventListener("pageshow", (event) => event.persisted && this.wake());
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
  }

  /** Follow this conversation from now on. */
  follow(url) {
    this.url = url;
    this.delay = FIRST_DELAY_MS;
    this.open();
  }

  open() {
    this.close();
    const source = new EventSource(this.url);
    this.source = source;
    source.onopen = () => {
      this.delay = FIRST_DELAY_MS;
      this.handlers.opened();
    };
    source.onmessage = (message) => this.handlers.received(JSON.parse(message.data));
    source.onerror = () => {
      this.close();
      this.handlers.lost();
      this.retry = setTimeout(() => this.open(), this.delay * (0.75 + Math.random() / 2));
      this.delay = Math.min(this.delay * 2, LONGEST_DELAY_MS);
    };
  }

  /** Whether nothing is heard, as nobody looks. */
  get rests() {
    return document.hidden && !this.source;
  }

  close() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }

  wake() {
    if (this.source?.readyState !== EventSource.OPEN) this.open();
  }

  visibilityChanged() {
    clearTimeout(this.rest);
    if (document.hidden) this.rest = setTimeout(() => this.close(), REST_AFTER_MS);
    else this.wake();
  }
}
