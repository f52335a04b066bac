// Boxes of task lists in answers: what somebody ticks is kept in this browser; the answer stays as it was written.

const TICKED = "kaiwa.ticked"; // [{ id, key, index, checked }]: a conversation, an answer of it and its box, the newest first
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
    const ticks = stored().filter((tick) => tick.id === id);
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
    const others = stored().filter((one) => ["id", "key", "index"].some((field) => one[field] !== tick[field]));
    localStorage.setItem(TICKED, JSON.stringify([tick, ...others].slice(0, MOST)));
  }

  forget(id) {
    localStorage.setItem(TICKED, JSON.stringify(stored().filter((tick) => tick.id !== id)));
  }
}

const boxesOf = (answer) => [...(answer?.querySelectorAll(".task input") ?? [])];

function stored() {
  try {
    return JSON.parse(localStorage.getItem(TICKED) ?? "[]").filter(Boolean);
  } catch {
    return [];
  }
}
