// Markdown blocks as DOM nodes, for text nobody has checked: nothing here ever parses HTML.

import { appendInline } from "./inline.js";
import { unturned } from "./turning.js";

const MAX_DEPTH = 8;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const TABLE_RULE = /^\|?(?: *:?-+:? *\|)* *:?-+:? *\|?$/;

const rendered = new WeakMap(); // element → the source it was made from

/**
 * Make `container` show `text`. Blocks whose source is unchanged keep their elements, so that what somebody selects
 * or scrolls in a growing answer stays as it is.
 */
export function renderMarkdown(container, text, decorateCode = () => {}) {
  const blocks = parseBlocks(unturned(text).replaceAll("\r\n", "\n").split("\n"));
  blocks.forEach((block, index) => {
    const present = container.children[index];
    if (present && rendered.get(present) === block.source) return;
    const element = toElement(block, 0, decorateCode);
    rendered.set(element, block.source);
    if (present) present.replaceWith(element);
    else container.append(element);
  });
  while (container.children.length > blocks.length) container.lastElementChild.remove();
}

function parseBlocks(lines) {
  const blocks = [];
  for (let i = 0; i < lines.length; ) {
    if (!lines[i].trim()) {
      i += 1;
      continue;
    }
    const { end, ...block } = parseBlock(lines, i);
    blocks.push({ ...block, source: lines.slice(i, end).join("\n") });
    i = end;
  }
  return blocks;
}

function parseBlock(lines, start) {
  const line = lines[start];
  if (FENCE.test(line)) return parseFence(lines, start);
  if (HEADING.test(line)) return { type: "heading", match: HEADING.exec(line), end: start + 1 };
  if (RULE.test(line)) return { type: "rule", end: start + 1 };
  if (QUOTE.test(line)) return parseQuote(lines, start);
  if (ITEM.test(line)) return parseList(lines, start);
  if (startsTable(lines, start)) return parseTable(lines, start);
  let end = start + 1;
  while (end < lines.length && lines[end].trim() && !interrupts(lines, end)) end += 1;
  return { type: "paragraph", text: lines.slice(start, end).map((part) => part.trim()).join("\n"), end };
}

function interrupts(lines, i) {
  const line = lines[i];
  const item = ITEM.exec(line);
  const startsList = item && item[0].length < line.length && (/[-*+]/.test(item[2]) || parseInt(item[2], 10) === 1);
  return [FENCE, HEADING, RULE, QUOTE].some((pattern) => pattern.test(line)) || startsList || startsTable(lines, i);
}

function parseFence(lines, start) {
  const [, mark, info] = FENCE.exec(lines[start]);
  let end = start + 1;
  const closes = (line) => {
    const bare = line.trim();
    return bare.length >= mark.length && bare === mark[0].repeat(bare.length);
  };
  while (end < lines.length && !closes(lines[end])) end += 1;
  const language = info.trim().split(/\s/)[0];
  return { type: "code", language, text: lines.slice(start + 1, end).join("\n"), end: Math.min(end + 1, lines.length) };
}

function parseQuote(lines, start) {
  let end = start;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  return { type: "quote", lines: lines.slice(start, end).map((line) => line.replace(QUOTE, "")), end };
}

function parseList(lines, start) {
  const [, base, marker] = ITEM.exec(lines[start]);
  const ordered = /\d/.test(marker);
  const items = [];
  let loose = false;
  let i = start;
  for (; i < lines.length; i += 1) {
    const line = lines[i];
    const indent = line.search(/\S/);
    const item = ITEM.exec(line);
    if (indent === -1) {
      if (!belongs(lines[i + 1], base.length, ordered)) break;
      loose = true;
      items.at(-1).push("");
    } else if (item && indent < base.length + 2 && /\d/.test(item[2]) === ordered && !RULE.test(line)) {
      items.push([line.slice(item[0].length)]);
    } else if (indent >= base.length + 2) {
      items.at(-1).push(line.slice(Math.min(indent, base.length + marker.length + 1)));
    } else if (items.at(-1).at(-1) && !interrupts(lines, i) && !item) {
      items.at(-1).push(line);
    } else {
      break;
    }
  }
  return { type: "list", ordered, first: parseInt(marker, 10), items, loose, end: i };
}

/** Whether the line after an empty one goes on with a list whose markers stand at `base`. */
function belongs(line, base, ordered) {
  if (!line?.trim()) return false;
  const item = ITEM.exec(line);
  const indent = line.search(/\S/);
  return indent >= base + 2 || Boolean(item && indent >= base && /\d/.test(item[2]) === ordered);
}

function startsTable(lines, i) {
  const rule = lines[i + 1]?.trim() ?? "";
  return lines[i].includes("|") && TABLE_RULE.test(rule) && cells(lines[i]).length === cells(rule).length;
}

function parseTable(lines, start) {
  let end = start + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const align = cells(lines[start + 1]).map((rule) =>
    rule.endsWith(":") ? (rule.startsWith(":") ? "center" : "end") : "start",
  );
  return { type: "table", align, head: cells(lines[start]), rows: lines.slice(start + 2, end).map(cells), end };
}

function cells(line) {
  const parts = line.trim().replace(/^\|/, "").replace(/\|$/, "").match(/(?:\\.|`[^`]*`|[^|])*(?:\||$)/g) ?? [];
  if (parts.at(-1) === "" && parts.length > 1) parts.pop();
  return parts.map((part) => part.replace(/\|$/, "").trim().replaceAll("\\|", "|"));
}

function toElement(block, depth, decorateCode) {
  const make = (name) => document.createElement(name);
  const inner = (lines, parent) => appendBlocks(parent, lines, depth + 1, decorateCode);
  switch (block.type) {
    case "heading":
      return withInline(make(`h${Math.min(block.match[1].length + 1, 6)}`), block.match[2].trim().replace(/\s#+$/, ""));
    case "rule":
      return make("hr");
    case "code":
      return codeElement(block, decorateCode);
    case "quote":
      return inner(block.lines, make("blockquote"));
    case "list":
      return listElement(block, inner);
    case "table":
      return tableElement(block);
    default:
      return withInline(make("p"), block.text);
  }
}

function appendBlocks(parent, lines, depth, decorateCode) {
  if (depth > MAX_DEPTH) parent.append(lines.join("\n"));
  else for (const block of parseBlocks(lines)) parent.append(toElement(block, depth, decorateCode));
  return parent;
}

function withInline(element, text) {
  appendInline(element, text);
  return element;
}

function codeElement({ language, text }, decorateCode) {
  const figure = document.createElement("figure");
  const pre = figure.appendChild(document.createElement("pre"));
  pre.tabIndex = 0; // scrolled by keyboard
  pre.appendChild(document.createElement("code")).textContent = text;
  decorateCode(figure, language, text);
  return figure;
}

function listElement({ ordered, first, items, loose }, inner) {
  const list = document.createElement(ordered ? "ol" : "ul");
  if (ordered && first !== 1) list.start = first;
  for (const lines of items) {
    const item = inner(lines, list.appendChild(document.createElement("li")));
    if (loose) continue;
    for (const paragraph of [...item.children].filter((child) => child.tagName === "P")) {
      paragraph.replaceWith(...paragraph.childNodes);
    }
  }
  return list;
}

function tableElement({ align, head, rows }) {
  const frame = document.createElement("div");
  frame.className = "table";
  frame.tabIndex = 0; // scrolled by keyboard
  const table = frame.appendChild(document.createElement("table"));
  const addRow = (section, name, texts) => {
    const row = section.appendChild(document.createElement("tr"));
    head.forEach((_, column) => {
      const cell = withInline(row.appendChild(document.createElement(name)), texts[column] ?? "");
      cell.className = align[column] ?? "start";
    });
  };
  addRow(table.appendChild(document.createElement("thead")), "th", head);
  const body = table.appendChild(document.createElement("tbody"));
  for (const row of rows) addRow(body, "td", row);
  return frame;
}
