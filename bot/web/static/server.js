// What the page asks of the server besides live events.

const SEND_LIMIT_MS = 15_000;
const UPLOAD_LIMIT_MS = 60_000;

export class Server {
  /** `signIn` is called when the server does not know this browser any more. */
  constructor(words, signIn) {
    this.words = words;
    this.signIn = signIn;
  }

  /** { messages, whole, cards }: what was committed after the message known already, and the cards with buttons; else null. */
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
  async send(conversation, { id, text, files = [], replaces = "" }) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const sent = files.filter((file) => file.ref).map(({ ref, name, mime, size }) => ({ ref, name, mime, size }));
    const message = { id, text, files: sent, replaces, locale: this.words.locale, time_zone: zone };
    const response = await this.post(`/console/${conversation}/messages`, message);
    return response?.ok ? "" : this.problem(response);
  }

  /** Uploads a file for a message: { mime, size, path } of what was stored, or { problem } in words. */
  async upload(conversation, { ref, name, file }) {
    const path = `/console/${conversation}/files/${ref}`;
    const response = await this.ask(`${path}?${new URLSearchParams({ name, type: file.type })}`, {
      method: "PUT",
      headers: { "Content-Type": "application/octet-stream" },
      body: file,
      signal: AbortSignal.timeout(UPLOAD_LIMIT_MS),
    });
    if (!response?.ok) return { problem: await this.problem(response) };
    const stored = await response.json();
    return { ...stored, path: stored.mime.startsWith("image/") ? path : "" };
  }

  /** What went wrong, in words; `response` is null where none came. */
  async problem(response) {
    if (!response) return this.words.say("unreachable");
    return (await sentenceIn(response)) ?? this.words.say("refused", { status: response.status });
  }

  /** Returns what went wrong, in words; nothing where the press was accepted. */
  async press(conversation, { action, value }) {
    return this.order(`/console/${conversation}/actions`, { action, value });
  }

  /** Returns what went wrong, in words; nothing where this browser is not known any more. */
  async signOut() {
    const problem = await this.order("/signout", {});
    if (!problem) this.signIn();
    return problem;
  }

  async order(url, content) {
    const response = await this.post(url, content);
    if (response?.ok) return "";
    return (response && (await sentenceIn(response))) ?? this.words.say("not_reached");
  }

  async post(url, content) {
    return this.ask(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
      signal: AbortSignal.timeout(SEND_LIMIT_MS),
    });
  }

  async ask(url, { headers, ...options } = {}) {
    const spoken = { "Accept-Language": this.words.language, ...headers };
    const response = await fetch(url, { cache: "no-store", headers: spoken, ...options }).catch(() => null);
    if (response?.status === 401) this.signIn();
    return response;
  }
}

export async function fetchJSON(url) {
  const response = await fetch(url);
  return response.json();
}

/** What the server says is wrong, where it says so in words for whoever reads the page. */
async function sentenceIn(response) {
  const { error } = response.status === 401 ? {} : await response.json().catch(() => ({}));
  return error;
}
