// Code in colours: highlight.js reads it, and its tokens become elements; nothing parses HTML.

const MOST = 20_000; // characters
let library = null; // comes with the first code that names its language

/** Colour what `code` shows, once it can be. */
export async function paint(code, language, text) {
  if (!language || text.length > MOST) return;
  library ??= import("./highlight.js");
  const { default: highlighter } = await library;
  if (!highlighter.getLanguage(language)) return;
  const { _emitter: emitter } = highlighter.highlight(text, { language, ignoreIllegals: true });
  const painted = document.createDocumentFragment();
  for (const child of emitter.root.children) append(painted, child);
  if (painted.textContent === text) code.replaceChildren(painted);
}

function append(parent, node) {
  if (typeof node === "string") {
    parent.append(node);
    return;
  }
  const element = parent.appendChild(document.createElement("span"));
  if (node.scope) element.className = `hl-${node.scope.split(".")[0]}`;
  for (const child of node.children) append(element, child);
}
