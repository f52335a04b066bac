// Boxes of task lists in answers: what somebody ticks is kept in this browser; the answer stays as it was written.

import { forget, keep, kept } from "./kept.js";

const TICKED = "kaiwa.ticked"; // [{ id, key, index, checked }]: a conversation, an answer of it and its box
const MOST = 500;

export class Ticks {
  /** `list` has the answers. */
  constructor(list) {
    this.list = list;
    list.addEventListener("change", ({ target }) => target.closest(".task") && this.keep(target));
  }

  /** Show what is ticked in this conversation. */
  show(id) {
    this.id = id;
    const ticks = kept(TICKED).filter((tick) => tick.id === id);
    const answers = new Map(ticks.length ? [...this.list.children].map((item) => [item.dataset.key, item]) : []);
    for (const { key, index, checked } of ticks) {
      const box = boxesOf(answers.get(key))[index];
      if (box) box.checked = checked;
    }
  }

  keep(box) {
    const answer = box.closest("[data-key]");
    const { key } = answer.dataset;
    const tick = { id: this.id, key, index: boxesOf(answer).indexOf(box), checked: box.checked };
    keep(TICKED, tick, ["id", "key", "index"], MOST);
  }

  forget(id) {
    forget(TICKED, id);
  }
}

const boxesOf = (answer) => [...(answer?.querySelectorAll(".task input") ?? [])];
