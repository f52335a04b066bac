// What comes while nobody looks: the title counts it, and a notification tells it where the browser may.

const BODY_CAP = 160; // characters

export class Background {
  constructor({ allow_notices }, words) {
    this.words = words;
    this.button = allow_notices;
    this.title = document.title;
    this.count = 0;
    this.button.addEventListener("click", () => this.ask());
    document.addEventListener("visibilitychange", () => document.hidden || this.seen());
    this.offer();
  }

  /** Something for the person has come. */
  came(text) {
    if (!document.hidden) return;
    this.count += 1;
    document.title = `(${this.count}) ${this.title}`;
    if (globalThis.Notification?.permission !== "granted") return;
    try {
      const notice = new Notification(this.title, { body: text.slice(0, BODY_CAP), tag: "kaiwa", icon: "/static/icon.svg" });
      notice.addEventListener("click", () => focus());
    } catch {
      // Chrome on Android shows none without a service worker.
    }
  }

  seen() {
    this.count = 0;
    document.title = this.title;
  }

  async ask() {
    await Notification.requestPermission();
    this.offer();
  }

  offer() {
    this.button.hidden = globalThis.Notification?.permission !== "default";
  }
}
