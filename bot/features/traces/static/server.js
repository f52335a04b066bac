// What the page asks of the server. The token is only in this page's memory: a reload asks for it again.

const LIMIT_MS = 120_000;

export class Server {
  constructor(words) {
    this.words = words;
    this.token = "";
  }

  /** The answer as JSON; an error is thrown in the server's words. */
  async ask(path, body) {
    const response = await this.fetch(path, body);
    return response.status === 204 ? null : response.json();
  }

  /** Save what the server sends as a file. */
  async download(path, name, body) {
    const blob = await (await this.fetch(path, body)).blob();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  async fetch(path, body) {
    const headers = { "Accept-Language": this.words.language };
    if (this.token) headers["Inside-Token"] = encodeURIComponent(this.token);
    const options = { cache: "no-store", headers, signal: AbortSignal.timeout(LIMIT_MS) };
    if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    const response = await fetch(path, options).catch(() => null);
    if (!response) throw new Error(this.words.say("unreachable"));
    if (response.status === 401) location.reload();
    if (!response.ok) {
      const { error } = await response.json().catch(() => ({}));
      throw new Error(error ?? this.words.say("refused", { status: response.status }));
    }
    return response;
  }
}
