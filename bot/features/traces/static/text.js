// What is shown was written by others: it is text, and characters that hide or reorder text show their numbers.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/gu;
const KEPT = new Set(["\n", "\t"]);

/** The text with escapes in place of characters that nobody sees. */
export function visible(text) {
  return String(text).replace(UNSEEN, (letter) => (KEPT.has(letter) ? letter : `\\u{${letter.codePointAt(0).toString(16)}}`));
}

/** An element with text, or with other elements. */
export function make(tag, name = "", ...content) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  for (const part of content) element.append(part instanceof Node ? part : visible(part));
  return element;
}

/** A button. */
export function button(name, text, pressed) {
  const element = make("button", name, text);
  element.type = "button";
  element.addEventListener("click", pressed);
  return element;
}
