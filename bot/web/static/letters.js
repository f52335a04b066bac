// Tells whoever runs the bot that answers could not be delivered. Asked now and then, while somebody looks.

const EVERY_MS = 60_000;
const SEEN = "kaiwa.letters"; // when the newest letter that was put aside had been given up

export class Letters {
  /** `closed` is called when the notice has been put aside. */
  constructor({ undelivered, undelivered_count, put_aside }, words, server, closed) {
    this.notice = undelivered;
    this.sentence = undelivered_count;
    this.words = words;
    this.server = server;
    this.closed = closed;
    this.news = { count: 0, newest: 0 };
    this.askedAt = -Infinity;
    put_aside.addEventListener("click", () => this.putAside());
    document.addEventListener("visibilitychange", () => this.look());
  }

  start() {
    setInterval(() => this.look(), EVERY_MS);
    this.look();
  }

  async look() {
    if (document.hidden || performance.now() - this.askedAt < EVERY_MS / 2) return;
    this.askedAt = performance.now();
    this.news = (await this.server.undelivered()) ?? this.news;
    this.show();
  }

  show() {
    const { count, newest } = this.news;
    this.notice.hidden = count === 0 || newest <= Number(localStorage.getItem(SEEN));
    const { words } = this;
    this.sentence.textContent = count === 1 ? words.say("undelivered_one", { count }) : words.say("undelivered_many", { count });
  }

  putAside() {
    localStorage.setItem(SEEN, this.news.newest);
    this.show();
    this.closed();
  }
}
