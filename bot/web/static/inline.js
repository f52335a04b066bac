// Markdown inside a line, as DOM nodes. Whatever is not understood stays the text it is.

const MAX_DEPTH = 6;
const LABEL_DEPTH = MAX_DEPTH + 1; // inside a link: words and code only
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}_]/u;
const DIGIT = /[0-9]/;
const BARE_URL = /^https?:\/\/[\w.~:/?#[\]@!$&'()*+,;=%-]+/i;
const TARGET = /^\(\s*<?((?:[^\s<>()]|\([^\s<>()]*\))+)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/;
const MAX_URL = 2100;
const DELIMITERS = [["***", "em", "strong"], ["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

/** Append the nodes of `text` to `parent`. */
export function appendInline(parent, text, depth = 0) {
  new Scanner(text, depth).scan(parent);
}

/** An absolute http(s) address, or null for everything a link must not lead to. */
export function safeURL(address) {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

class Scanner {
  constructor(text, depth) {
    this.text = text;
    this.depth = depth;
    this.hopeless = new Set(); // delimiters known to have no end further on: keeps the work linear
  }

  scan(parent) {
    const { text } = this;
    let plain = "";
    let i = 0;
    const flush = () => {
      if (plain) parent.append(plain);
      plain = "";
    };
    while (i < text.length) {
      if (text[i] === "\\" && ESCAPABLE.test(text[i + 1] ?? "")) {
        plain += text[i + 1];
        i += 2;
        continue;
      }
      const found = this.find(i);
      if (found) {
        flush();
        parent.append(found.node);
        i = found.end;
      } else {
        const step = this.plainRun(i);
        plain += text.slice(i, i + step);
        i += step;
      }
    }
    flush();
  }

  /** Characters from `i` on that are surely text: a failed run of delimiters is not tried again from its middle. */
  plainRun(i) {
    const { text } = this;
    let end = i + 1;
    if ("*_~`".includes(text[i])) while (text[end] === text[i]) end += 1;
    return end - i;
  }

  find(i) {
    const character = this.text[i];
    if (character === "\n") return { node: document.createElement("br"), end: i + 1 };
    if (character === "`") return this.code(i);
    if (this.depth === LABEL_DEPTH) return null;
    if (character === "[" || (character === "!" && this.text[i + 1] === "[")) return this.link(i);
    if (character === "<" || character === "h" || character === "H") return this.address(i);
    if (this.depth < MAX_DEPTH && "*_~".includes(character)) return this.emphasis(i);
    return null;
  }

  code(i) {
    const { text } = this;
    const ticks = "`".repeat(this.plainRun(i));
    if (this.hopeless.has(ticks)) return null;
    for (let j = i + ticks.length; (j = text.indexOf("`", j)) !== -1; ) {
      const run = this.plainRun(j);
      if (run === ticks.length) {
        const inner = text.slice(i + run, j).replaceAll("\n", " ");
        const node = document.createElement("code");
        node.textContent = /^ .*[^ ].* $/.test(inner) ? inner.slice(1, -1) : inner;
        return { node, end: j + run };
      }
      j += run;
    }
    this.hopeless.add(ticks);
    return null;
  }

  link(i) {
    const { text } = this;
    const start = text.indexOf("[", i);
    this.brackets ??= matchBrackets(text);
    const close = this.brackets.get(start);
    const target = close && TARGET.exec(text.slice(close + 1, close + MAX_URL));
    if (!target) return null;
    const url = safeURL(target[1]);
    const node = url ? anchor(url) : document.createDocumentFragment();
    appendInline(node, text.slice(start + 1, close) || target[1], LABEL_DEPTH);
    return { node, end: close + 1 + target[0].length };
  }

  address(i) {
    const { text } = this;
    const start = text[i] === "<" ? i + 1 : i;
    if (start === i && WORD.test(text[i - 1] ?? "")) return null;
    const match = BARE_URL.exec(text.slice(start, start + MAX_URL));
    if (!match || (start > i && text[start + match[0].length] !== ">")) return null;
    const shown = start > i ? match[0] : trimmed(match[0]);
    const url = safeURL(shown);
    if (!url) return null;
    const node = anchor(url);
    node.textContent = shown;
    return { node, end: start + shown.length + (start - i) };
  }

  emphasis(i) {
    const { text } = this;
    for (const [delimiter, ...names] of DELIMITERS) {
      if (!text.startsWith(delimiter, i) || !this.opens(i, delimiter)) continue;
      const close = this.closing(i + delimiter.length, delimiter);
      if (close === -1) continue;
      const outer = document.createElement(names[0]);
      const inner = names[1] ? outer.appendChild(document.createElement(names[1])) : outer;
      appendInline(inner, text.slice(i + delimiter.length, close), this.depth + 1);
      return { node: outer, end: close + delimiter.length };
    }
    return null;
  }

  opens(i, delimiter) {
    const before = this.text[i - 1] ?? " ";
    const after = this.text[i + delimiter.length] ?? " ";
    if (/\s/.test(after) || this.hopeless.has(delimiter)) return false;
    if (delimiter[0] === "_") return !WORD.test(before);
    return !(delimiter === "*" && DIGIT.test(before) && DIGIT.test(after)); // 2*3*4 is a sum
  }

  /** Where the closing delimiter starts. A run closes with its last characters: `**a *b***`. */
  closing(from, delimiter) {
    const { text } = this;
    const [mark, length] = [delimiter[0], delimiter.length];
    for (let j = from; j < text.length; ) {
      if (text[j] === "\\") {
        j += 2;
      } else if (text[j] === "`") {
        j = this.code(j)?.end ?? j + this.plainRun(j);
      } else if (text[j] === mark) {
        const run = this.plainRun(j);
        const fits = length === 1 ? run % 2 === 1 : run >= length;
        const glued = mark === "_" && WORD.test(text[j + run] ?? " ");
        if (j > from && fits && !glued && !/\s/.test(text[j - 1])) return j + run - length;
        j += run;
      } else {
        j += 1;
      }
    }
    this.hopeless.add(delimiter);
    return -1;
  }
}

function anchor(url) {
  const node = document.createElement("a");
  node.href = url;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  return node;
}

function matchBrackets(text) {
  const open = [];
  const pairs = new Map();
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === "[") open.push(i);
    else if (text[i] === "]" && open.length) pairs.set(open.pop(), i);
  }
  return pairs;
}

/** A bare address without the punctuation of the sentence around it. */
function trimmed(address) {
  let shown = address;
  for (;;) {
    const last = shown.at(-1);
    const unbalanced = last === ")" && shown.split(")").length > shown.split("(").length;
    if (!unbalanced && !/[.,;:!?'"*_~\]]/.test(last)) return shown;
    shown = shown.slice(0, -1);
  }
}
