// Code in colours: highlight.js reads it, and the spans that it writes become elements; no browser parses them as HTML.

const MOST = 20_000; // characters
const PIECE = /<span class="(?:hl-)?([\w-]+)[^"]*">|<\/span>|[^<]+/g;
const SIGN = /&[^;]+;/g;
const SIGNS = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };

let library = null; // comes with the first code that names its language

/** Colour what `code` shows, once it can be. */
export async function paint(code, language, text) {
  if (!language || text.length > MOST) return;
  library ??= import("./highlight.js");
  const { default: highlighter } = await library;
  if (!highlighter.getLanguage(language)) return;
  highlighter.configure({ classPrefix: "hl-" });
  const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
  const painted = read(value);
  if (painted.textContent === text) code.replaceChildren(painted);
}

/** Spans with a class each, and text: the library writes nothing else. */
function read(written) {
  const root = document.createDocumentFragment();
  let parent = root;
  for (const [piece, name] of written.matchAll(PIECE)) {
    if (name) {
      parent = parent.appendChild(document.createElement("span"));
      parent.className = `hl-${name}`;
    } else if (piece === "</span>") {
      parent = parent.parentNode ?? root;
    } else {
      parent.append(piece.replace(SIGN, (sign) => SIGNS[sign]));
    }
  }
  return root;
}
