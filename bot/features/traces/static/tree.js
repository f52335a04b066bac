// JSON that can be folded: its parts are made as they are opened, however deep it is.

import { button, make, visible } from "./text.js";

const PAGE = 100; // members shown at once
const PREVIEW = 90; // characters
const ROLES = ["role", "type", "name", "kind"];

/** The tree of a value; `words.more` names the button that shows more members. */
export function tree(value, words) {
  const root = make("div", "tree");
  members(root, value, words, 1);
  return root;
}

function members(parent, value, words, open = 0) {
  const entries = Object.entries(value);
  let shown = 0;
  const grow = () => {
    for (const [key, one] of entries.slice(shown, shown + PAGE)) parent.append(node(key, one, words, open));
    shown += PAGE;
    if (shown < entries.length) {
      const more = button("quiet", `${words.more} (${entries.length - shown})`, () => {
        more.remove();
        grow();
      });
      parent.append(more);
    }
  };
  grow();
}

function node(key, value, words, open) {
  if (value === null || typeof value !== "object") {
    return make("div", "leaf", make("span", "key", key), make("span", `value ${typeof value}`, String(value)));
  }
  const details = make("details");
  const summary = make("summary", "", make("span", "key", key), make("span", "preview", preview(value)));
  details.append(summary);
  const fill = () => {
    if (details.childElementCount === 1) {
      const inner = make("div", "inner");
      members(inner, value, words, open - 1);
      details.append(inner);
    }
  };
  details.addEventListener("toggle", () => details.open && fill());
  if (open > 0 && Object.keys(value).length <= PAGE) {
    details.open = true;
    fill();
  }
  return details;
}

/** What a folded part is: its role, and how it begins. */
function preview(value) {
  const roles = ROLES.map((name) => value[name]).filter((one) => typeof one === "string" && one);
  const size = Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
  return visible([size, ...roles, firstText(value)].filter(Boolean).join(" · ").slice(0, PREVIEW));
}

function firstText(value) {
  for (let part = value, depth = 0; part && depth < 6; depth++) {
    const text = part.text ?? part.content ?? part.parts ?? (Array.isArray(part) ? part[0] : undefined);
    if (typeof text === "string") return text.slice(0, PREVIEW).replaceAll(/\s+/g, " ");
    part = text;
    if (typeof part !== "object") return "";
  }
  return "";
}
