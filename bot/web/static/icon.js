// Drawings of buttons.

const SVG = "http://www.w3.org/2000/svg";

/** A drawing of 16 by 16, made of lines. */
export function icon(path) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("aria-hidden", "true");
  drawing.appendChild(document.createElementNS(SVG, "path")).setAttribute("d", path);
  return drawing;
}
