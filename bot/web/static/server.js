// What the page asks of the server besides live events.

const SEND_LIMIT_MS = 15_000;

export class Server {
  /** `signIn` is called when the server does not know this browser any more. */
  constructor(words, signIn) {
    this.words = words;
    this.signIn = signIn;
  }

  /** The committed messages { messages, whole } after the one known already; null when they cannot be had now. */
  async history(conversation, after) {
    const response = await this.ask(`/console/${conversation}${after ? `?after=${encodeURIComponent(after)}` : ""}`);
    return response?.ok ? response.json() : null;
  }

  /** How much could not be delivered, { count, newest }; null when that cannot be had now. */
  async undelivered() {
    const response = await this.ask("/dead-letters");
    return response?.ok ? response.json() : null;
  }

  /** Returns what went wrong, in words; nothing where the message was accepted. */
  async send(conversation, { id, text }) {
    const { words } = this;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const response = await this.ask(`/console/${conversation}/messages`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ id, text, locale: words.locale, time_zone: zone }),
      signal: AbortSignal.timeout(SEND_LIMIT_MS),
    });
    if (!response) return words.say("unreachable");
    if (response.ok) return "";
    const { error } = response.status === 401 ? {} : await response.json().catch(() => ({}));
    return error ?? words.say("refused", { status: response.status });
  }

  async ask(url, { headers, ...options } = {}) {
    const spoken = { "Accept-Language": this.words.language, ...headers };
    const response = await fetch(url, { cache: "no-store", headers: spoken, ...options }).catch(() => null);
    if (response?.status === 401) this.signIn();
    return response;
  }
}
