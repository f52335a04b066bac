// Words of messages, found in the browser: while the drawer is open each conversation is asked for once, one after the other.

const PAUSE_MS = 250; // after a key
const CAP = 200_000; // characters of a conversation, the newest
const AROUND = 30; // characters before the words found

export class Finder {
  /** `read(id)` returns the messages of a conversation, or null. */
  constructor(read) {
    this.read = read;
    this.begin();
  }

  /** Forget what was read; what is read meanwhile is not looked at. */
  begin() {
    this.known = new Map(); // id → its messages, the newest first, one line each
    this.search = null;
    clearTimeout(this.timer);
  }

  /** Look for words in those of these conversations that are not known yet; `found(id)` is called for each that has them. */
  find(wanted, ids, found) {
    const search = (this.search = { wanted, ids, found });
    clearTimeout(this.timer);
    if (!wanted) return;
    this.timer = setTimeout(() => this.readOn(search), PAUSE_MS);
  }

  async readOn(search) {
    const { known } = this;
    for (const id of search.ids.filter((one) => !known.has(one))) {
      const messages = await this.read(id);
      if (search !== this.search) return;
      known.set(id, linesOf(messages ?? []));
      if (this.excerpt(id, search.wanted)) search.found(id);
    }
  }

  /** The words around the first place that has those wanted, in a conversation known; else nothing. */
  excerpt(id, wanted) {
    if (!wanted) return "";
    for (const line of this.known.get(id) ?? []) {
      const at = folded(line).indexOf(wanted);
      if (at >= 0) return `${at > AROUND ? "…" : ""}${line.slice(Math.max(0, at - AROUND), at + 4 * AROUND)}`;
    }
    return "";
  }
}

function linesOf(messages) {
  const lines = [];
  let left = CAP;
  for (const { role, text } of messages.toReversed()) {
    if (role === "scheduled" || !text) continue;
    lines.push(text.slice(0, left).replace(/\s+/g, " "));
    left -= text.length;
    if (left <= 0) break;
  }
  return lines;
}

/** As it is compared: letters of either case and width are the same. */
export function folded(text) {
  return text.normalize("NFKC").toLowerCase();
}
