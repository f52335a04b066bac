// Drawings of buttons.

export const PENCIL = "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z";
const SVG = "http://www.w3.org/2000/svg";

/** A drawing of 16 by 16, made of lines. */
export function icon(path) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("aria-hidden", "true");
  drawing.appendChild(document.createElementNS(SVG, "path")).setAttribute("d", path);
  return drawing;
}
