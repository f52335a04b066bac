// Markdown as DOM nodes, for text nobody has checked: markdown-it reads it, and nothing parses HTML.
// What differs from CommonMark, and why, stands in bot/channels/markdown.py, which reads the same.

import MarkdownIt from "./markdown-it.js";
import { showMath, mathBlock, mathInline } from "./math.js";
import { paint } from "./paint.js";
import { unturned } from "./turning.js";

const DEEPEST = 40; // levels of quotes and lists within each other; a list takes two
const MOST_MARKS = 6; // emphasis within emphasis
const BLOCKS = ["table", "math", "fence", "blockquote", "hr", "list", "heading", "paragraph"];
const INLINE = ["text", "newline", "math", "escape", "backticks", "strikethrough", "emphasis", "link", "image", "autolink"];
const PAIRS = ["balance_pairs", "strikethrough", "emphasis", "fragments_join"];
const ADDRESS = /^(?:[a-z][a-z0-9+.-]{0,30}:\/\/|www\.|mailto:|tel:)/i;
const STOP = /[\n!<*_~`[\]\\$]|(?<![a-z])https?:\/\//gi; // where another rule than that of text may match
const BARE = /https?:\/\/[\w.~:/?#[\]@!$&'()*+,;=%-]{1,2000}/iy;
const TASK = /^\[([ xX])\] /;
const TAGS = { s: "del" };
const ALIGNED = { "text-align:center": "center", "text-align:right": "end" };

const parser = new MarkdownIt("zero", { maxNesting: DEEPEST });
parser.validateLink = (address) => ADDRESS.test(address);
parser.normalizeLink = (address) => address;
parser.normalizeLinkText = (address) => address; // decoded it could look like another one
parser.block.ruler.before("fence", "math", mathBlock, { alt: ["paragraph"] });
parser.inline.ruler.before("escape", "math", mathInline);
parser.block.ruler.enableOnly(BLOCKS);
const [readTable] = parser.block.ruler.getRules("");
parser.block.ruler.at("table", table, { alt: ["paragraph"] });
parser.inline.ruler.at("text", text);
parser.inline.ruler.enableOnly(INLINE);
parser.inline.ruler2.enableOnly(PAIRS);
parser.inline.State = class extends parser.inline.State {
  /** The run of marks that starts here, and whether it may open and close emphasis. */
  scanDelims(start) {
    const { src, posMax } = this;
    const mark = src[start];
    let end = start + 1;
    while (end < posMax && src[end] === mark) end += 1;
    const before = start ? src[start - 1] : " ";
    const after = end < posMax ? src[end] : " ";
    const isGlued = mark === "*" ? /[a-z0-9]/i.test(before) : mark === "_" && /[\p{L}\p{N}]/u.test(before);
    const goesOn = mark === "_" && /[\p{L}\p{N}]/u.test(after);
    return { can_open: !/\s/.test(after) && !isGlued, can_close: !/\s/.test(before) && !goesOn, length: end - start };
  }
};

const rendered = new WeakMap(); // element → the source it was made from

/**
 * Make `container` show `text`. Blocks whose source is unchanged keep their elements, so that what somebody selects
 * or scrolls in a growing answer stays as it is.
 */
export function renderMarkdown(container, text, decorateCode = () => {}) {
  const source = unturned(text);
  const lines = source.split(/\r\n?|\n/);
  const blocks = blocksOf(source);
  blocks.forEach((block, index) => {
    const written = lines.slice(...block[0].map).join("\n");
    const present = container.children[index];
    if (present && rendered.get(present) === written) return;
    const element = toElement(block, decorateCode);
    rendered.set(element, written);
    if (present) present.replaceWith(element);
    else container.append(element);
  });
  while (container.children.length > blocks.length) container.lastElementChild.remove();
}

/** The tokens of each block; one paragraph, as it is written, where quotes and lists nest too deeply to be shown. */
function blocksOf(source) {
  const blocks = [];
  for (const token of parser.parse(source, {})) {
    if (token.level >= DEEPEST - 1) return [asWritten(source)];
    if (token.level === 0 && token.nesting >= 0) blocks.push([]);
    blocks.at(-1).push(token);
  }
  return blocks;
}

function asWritten(source) {
  const [opened, inline, closed] = parser.parse("text", {});
  opened.map = [0, Infinity];
  inline.children[0].content = source;
  return [opened, inline, closed];
}

/** A rule: characters without a meaning, up to an address, or an address. */
function text(state, silent) {
  STOP.lastIndex = BARE.lastIndex = state.pos;
  const end = Math.min(STOP.exec(state.src)?.index ?? state.posMax, state.posMax);
  const address = end === state.pos && trimmed(BARE.exec(state.src)?.[0].slice(0, state.posMax - end) ?? "");
  const shown = address || state.src.slice(state.pos, end);
  if (!silent && address && !state.linkLevel && safeURL(address)) {
    state.push("link_open", "a", 1).attrSet("href", address);
    state.push("text", "", 0).content = address;
    state.push("link_close", "a", -1);
  } else if (!silent) {
    state.pending += shown;
  }
  state.pos += shown.length;
  return shown !== "";
}

/** A rule: a table as far as its lines have a bar; cells that its head lacks stand in the last one. */
function table(state, start, end, silent) {
  if (!readTable(state, start, end, true) || silent) return readTable(state, start, end, true);
  const line = (at) => state.src.slice(state.bMarks[at] + state.tShift[at], state.eMarks[at]).trim();
  let last = start + 2;
  while (last < end && line(last).includes("|")) last += 1;
  const first = state.tokens.length;
  readTable(state, start, last, false);
  const added = state.tokens.slice(first);
  const columns = added.filter((token) => token.type === "th_open").length;
  added.forEach((token, index) => {
    if (token.type !== "tr_open") return;
    const texts = cells(line(token.map[0]));
    texts.push(texts.splice(columns - 1).join(" | "));
    // A cell has three tokens, the second with its text.
    for (let cell = 0; cell < columns; cell += 1) added[index + 3 * cell + 2].content = texts[cell] ?? "";
  });
  return true;
}

/** The texts of a row's cells; a bar in code parts none. */
function cells(line) {
  const found = line.replace(/^\|/, "").match(/(?:\\.|`[^`]*`|[^|])*(?:\||$)/g).slice(0, -1);
  return found.map((text) => text.replace(/(?<!\\)\|$/, "").replaceAll("\\|", "|").trim());
}

function toElement(tokens, decorateCode) {
  const root = document.createDocumentFragment();
  const parents = [root];
  for (const token of tokens) {
    const parent = parents.at(-1);
    if (token.type === "inline") appendInline(parent, token.children);
    else if (token.type === "fence") parent.append(codeElement(token, decorateCode));
    else if (token.type === "math") parent.append(showMath("div", token));
    else if (token.nesting === 1) parents.push(token.hidden ? parent : opened(token, parent));
    else if (token.nesting === -1) parents.pop();
    else parent.append(document.createElement(token.tag));
  }
  return root.firstElementChild;
}

/** The new element that takes what is in a block. */
function opened(token, parent) {
  const tag = /^h\d$/.test(token.tag) ? `h${Math.min(Number(token.tag[1]) + 1, 6)}` : token.tag;
  const element = document.createElement(tag);
  if (token.attrGet("start")) element.start = token.attrGet("start");
  if (tag === "th" || tag === "td") element.className = ALIGNED[token.attrGet("style")] ?? "start";
  if (tag !== "table") return parent.appendChild(element);
  const frame = parent.appendChild(document.createElement("div"));
  frame.className = "table";
  frame.tabIndex = 0; // scrolled by keyboard
  return frame.appendChild(element);
}

function codeElement({ info, content }, decorateCode) {
  const figure = document.createElement("figure");
  const pre = figure.appendChild(document.createElement("pre"));
  pre.tabIndex = 0; // scrolled by keyboard
  const text = content.replace(/\n$/, "");
  const code = pre.appendChild(document.createElement("code"));
  code.textContent = text;
  const [language] = info.trim().split(/\s/);
  paint(code, language, text);
  decorateCode(figure, language, text);
  return figure;
}

function appendInline(block, tokens) {
  const parents = [taskIn(block, tokens) ?? block];
  for (const token of tokens) {
    const parent = parents.at(-1);
    if (token.type === "link_open") parents.push(anchor(token.attrGet("href"), parent));
    else if (token.type === "math") parent.append(showMath("span", token));
    else if (token.type === "image") anchor(token.attrGet("src"), parent).append(token.content || token.attrGet("src"));
    else if (token.nesting === 1) parents.push(parents.length > MOST_MARKS ? parent : emphasis(token, parent));
    else if (token.nesting === -1) named(parents.pop());
    else if (token.tag === "code") parent.appendChild(document.createElement("code")).textContent = token.content;
    else parent.append(token.tag === "br" ? document.createElement("br") : token.content);
  }
}

/** What holds the words of an item of a task list, behind its box; null for other words. */
function taskIn(block, tokens) {
  const [first] = tokens;
  const [mark, done] = TASK.exec(first?.type === "text" ? first.content : "") ?? [];
  const item = block.tagName === "P" ? block.parentElement : block;
  if (!mark || item?.tagName !== "LI" || item.querySelector("label")) return null;
  first.content = first.content.slice(mark.length);
  item.className = "task";
  const label = block.appendChild(document.createElement("label"));
  const box = label.appendChild(document.createElement("input"));
  box.type = "checkbox";
  box.defaultChecked = done !== " ";
  return label;
}

function emphasis(token, parent) {
  return parent.appendChild(document.createElement(TAGS[token.tag] ?? token.tag));
}

/** A new link, or `parent` where the address is none to follow, or another link is around it. */
function anchor(address, parent) {
  const url = safeURL(address);
  if (!url || parent.closest("a")) return parent;
  const node = parent.appendChild(document.createElement("a"));
  node.href = url;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  return node;
}

/** A link without words shows its address. */
function named(element) {
  if (element.tagName === "A" && !element.textContent) element.textContent = element.href;
}

/** An absolute http(s) address, or null for everything a link must not lead to. */
function safeURL(address) {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

/** A bare address without the punctuation of the sentence around it. */
function trimmed(address) {
  let shown = address;
  for (;;) {
    const last = shown.at(-1) ?? "";
    const unbalanced = last === ")" && shown.split(")").length > shown.split("(").length;
    if (!unbalanced && !/[.,;:!?'"*_~\]]/.test(last)) return shown;
    shown = shown.slice(0, -1);
  }
}
