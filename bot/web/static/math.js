// Mathematics: what stands between dollar signs, \\( and \\) or \\[ and \\]; Temml makes MathML of it.

const MOST = 2000; // characters of a formula
const NUMBER = /[0-9]/;
const WORD = /[\p{L}\p{N}]/u;
const CLOSING_OF_BLOCKS = { "$$": "$$", "\\[": "\\]" };
let library = null; // comes with the first formula

/** A rule: a formula in a line. A dollar sign beside a space or a number is one of money. */
export function mathInline(state, silent) {
  const { src, pos, posMax } = state;
  const opening = src.startsWith("$$", pos) ? "$$" : src[pos] === "$" ? "$" : src.slice(pos, pos + 2);
  const closing = { $: "$", "\\(": "\\)", $$: "$$" }[opening]; // \\[ is an escaped bracket there
  if (!closing) return false;
  const start = pos + opening.length;
  const end = closingAt(src, start, Math.min(posMax, start + MOST), closing);
  if (end < 0 || !src.slice(start, end).trim()) return false;
  if (opening === "$") {
    const isMoney = /\s/.test(src[start]) || /\s/.test(src[end - 1]) || NUMBER.test(src[end + 1] ?? "") || src.slice(start, end).includes("\n");
    if (isMoney || WORD.test(src[pos - 1] ?? "")) return false;
  }
  if (!silent) {
    const token = state.push("math", "math", 0);
    token.content = src.slice(start, end);
    token.markup = opening;
    token.block = opening === "$$";
  }
  state.pos = end + closing.length;
  return true;
}

/** A rule: a formula in lines of its own. */
export function mathBlock(state, line, last, silent) {
  const start = state.bMarks[line] + state.tShift[line];
  const opening = state.src.slice(start, start + 2);
  const closing = CLOSING_OF_BLOCKS[opening];
  if (!closing) return false;
  const end = closingAt(state.src, start + 2, Math.min(state.eMarks[last - 1], start + MOST), closing);
  if (end < 0) return false;
  let after = line;
  while (state.eMarks[after] < end) after += 1;
  if (state.src.slice(end + 2, state.eMarks[after]).trim()) return false;
  if (silent) return true;
  const token = state.push("math", "math", 0);
  token.block = true;
  token.content = state.src.slice(start + 2, end);
  token.markup = opening;
  token.map = [line, after + 1];
  state.line = after + 1;
  return true;
}

/** An element for a formula: its source, and the formula once that can be drawn. */
export function showMath(tag, { content, markup, block }) {
  const element = document.createElement(tag);
  element.className = block ? "math display" : "math";
  element.tabIndex = block ? 0 : -1; // scrolled by keyboard
  element.textContent = `${markup}${content}${{ "\\(": "\\)", $: "$", ...CLOSING_OF_BLOCKS }[markup]}`;
  draw(element, content, block);
  return element;
}

async function draw(element, source, displayMode) {
  library ??= import("./temml.js");
  const { default: temml } = await library;
  const formula = document.createElement("span");
  try {
    temml.render(source, formula, { displayMode, throwOnError: true, maxExpand: 100, maxSize: [20, 20], trust: false });
  } catch {
    return; // it stays as it is written
  }
  for (const named of formula.querySelectorAll("[id], [href]")) {
    named.removeAttribute("id");
    named.removeAttribute("href");
  }
  element.replaceChildren(...formula.childNodes);
}

/** Where an unescaped mark stands next; -1 where there is none before the end, or the first is another one. */
function closingAt(src, start, end, mark) {
  for (let at = start; at <= end - mark.length; at += 1) {
    if (src.startsWith(mark, at)) return at;
    if (src[at] === "\\") at += 1;
  }
  return -1;
}
