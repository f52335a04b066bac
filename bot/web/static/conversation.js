// What is known of a conversation: the server's history, the turns seen live, and the words sent but not yet answered.
// The history is the truth; everything else gives way to it.

import { kept } from "./kept.js";
import { keepRatings, ratingsOf } from "./ratings.js";
import { addCall, addWords, breakOff, dropWords, finishCall, withoutTail } from "./turn.js";

export const STORED = "kaiwa.sent.";
const KEEP_MS = 3_600_000; // how long a sent message is waited for after the page was closed
const GOES_ON = new Set(["started", "text", "tool_started", "tool_finished", "answered"]); // no question is open then

export class Conversation {
  constructor(id) {
    this.id = id;
    this.history = [];
    this.turns = []; // { id, users: [ids], segments: [{text} | {call}], gap, over, reply }
    this.endings = new Map(ratingsOf(id)); // last user id of a turn → how it ended, as far as the history does not say
    this.durations = new Map(); // tool call id → ms
    // { id, text, files, at, accepted, dismissed, answered }; what was answered is in the history, or nowhere
    this.sent = readSent(id).filter((message) => !message.answered);
    this.taken = new Set(); // ids of messages that others replace: neither they nor their answers are shown
    this.cards = new Map(); // key → { key, title, rows, note, buttons, until, call_id }; of one that waits { pressed, over, outcome } too
  }

  send(message) {
    this.sent.push(message);
    this.storeSent();
  }

  /** Another message takes the place of this one, which is answered no more. */
  takeBack(id) {
    this.taken.add(id);
    this.unsend(id);
    this.turns = this.turns.filter((turn) => !turn.over || turn.users.some((user) => !this.taken.has(user)));
  }

  /** The other message did not arrive. */
  putBack(id) {
    this.taken.delete(id);
  }

  accepted(id) {
    for (const message of this.sent) message.accepted ||= message.id === id;
    this.storeSent();
  }

  unsend(id) {
    this.sent = this.sent.filter((message) => message.id !== id);
    this.storeSent();
  }

  /** What was said before a wish to stop, and had been taken by no turn, is not answered. */
  dismiss(ids) {
    for (const message of this.sent) message.dismissed ||= ids.includes(message.id);
    this.storeSent();
  }

  /** What gives way to the server's answer to a request made now; what live events tell meanwhile is newer. */
  get snapshot() {
    return new Map(this.cards);
  }

  /** Take what the server knows: what it has committed, or what came of that after the last entry known here, and the cards
      with buttons. One that waited here already when the server was asked (`then`), and is not there, is decided. */
  learn({ messages, whole, cards = [] }, then) {
    for (const card of cards) {
      if (this.cards.get(card.key) === then.get(card.key)) this.show(card);
    }
    const present = new Set(whole ? [] : this.history.map((entry) => entry.id));
    this.history = [...(whole ? [] : this.history), ...messages.filter((entry) => !present.has(entry.id))];
    const known = new Set(this.history.map((entry) => entry.id));
    this.sent = this.sent.filter((message) => !known.has(message.id));
    this.turns = this.turns.filter((turn) => (turn.users.length ? !turn.users.every((id) => known.has(id)) : !turn.over));
    this.storeSent();
    const open = this.question?.key;
    if (then.has(open) && !cards.some((card) => card.key === open)) this.closeQuestion();
  }

  /** Nothing was heard for long: a turn that belongs to nobody here may be over. */
  forgetHalfway() {
    this.turns = this.turns.filter((turn) => turn.over || turn.users.length);
  }

  /** The live events were cut off: what they told so far has a hole from here on. */
  interrupted() {
    this.forgetHalfway();
    for (const turn of this.turns) {
      if (!turn.over) breakOff(turn);
    }
  }

  /** Take a live event. Words outside a turn we know are late or half-heard, and the history will tell them. */
  take(event) {
    const turn = this.turns.find((candidate) => !candidate.over);
    if (GOES_ON.has(event.type)) this.closeQuestion();
    switch (event.type) {
      case "started":
        this.start(event);
        break;
      case "joined":
        if (turn) turn.users = [...turn.users, ...event.user_ids];
        break;
      case "text":
        if (turn && !turn.gap) addWords(turn, event.text);
        break;
      case "restarted":
        if (turn) dropWords(turn);
        break;
      case "tool_started":
        addCall(turn ?? this.startHalfway(), event);
        break;
      case "tool_finished":
        this.durations.set(event.call_id, event.ms);
        finishCall(turn ?? this.startHalfway(), event);
        break;
      case "card":
        this.show({ ...event, title: this.cards.get(event.key)?.title ?? event.title }); // a list's own name has no capitals
        break;
      case "card_closed":
        this.settle(event);
        break;
      case "answered":
        this.end(event);
        break;
    }
  }

  /** The card that waits for a decision: the question that is open. */
  get question() {
    return [...this.cards.values()].find((card) => card.until && !card.over);
  }

  /** Its decision is on its way, or did not arrive. */
  press(key, pressed) {
    if (this.question?.key === key) this.question.pressed = pressed;
  }

  /** Press the thumb with this value and action, or none of them; the action of the one that was pressed before. */
  rate(value, action) {
    const [said, ending] = [...this.endings].find(([, { ratings }]) => ratings?.[0]?.value === value) ?? [];
    if (!ending) return undefined;
    const before = ending.rated;
    ending.rated = action;
    keepRatings(this.id, said, ending);
    return before;
  }

  /** What the newest turn is doing: idle, asked (it waits for a decision), thinking, tool or writing. */
  get activity() {
    if (this.question) return this.question.pressed ? "thinking" : "asked";
    const turn = this.turns.find((candidate) => !candidate.over);
    if (!turn) return this.pending.length ? "thinking" : "idle";
    const newest = turn.segments.at(-1);
    if (turn.segments.some((segment) => segment.call?.running)) return "tool";
    return newest?.text ? "writing" : "thinking";
  }

  /** Sent messages that no turn has taken. */
  get waiting() {
    const taken = new Set(this.turns.flatMap((turn) => turn.users));
    return this.sent.filter((message) => !taken.has(message.id));
  }

  /** The last message of the user. */
  get lastSaid() {
    return this.items.findLast((item) => item.kind === "user");
  }

  /** Those that will be answered. */
  get pending() {
    return this.waiting.filter((message) => !message.dismissed);
  }

  /** Sent messages of which it is not known whether they arrived; sending them again does no harm. */
  get unsure() {
    return this.sent.filter((message) => !message.accepted);
  }

  /** Everything to show, in order, each with a key that stays when a live turn becomes history. */
  get items() {
    const items = withLists([...this.historyItems(), ...this.turns.flatMap((turn) => this.turnItems(turn))], this.cards);
    items.push(...this.waiting.map((message) => ({ kind: "user", ...message })));
    const shown = new Set(items.map((item) => item.card));
    const others = [...this.cards.values()].filter((card) => !card.until && !shown.has(card));
    items.push(...others.map((card) => ({ kind: "buttons", card })));
    for (const item of items.slice(0, -1)) delete item.buttons; // nobody answers an earlier question
    const last = items.findLast((item) => item.kind !== "buttons");
    if (last?.whole && this.activity === "idle") last.again = true;
    const { question } = this;
    if (question && !shown.has(question)) items.push({ kind: "question", card: question }); // the turn was not seen, as after a reload
    return keyed(items);
  }

  /** Turns follow one another: one that seems to be running still has ended unseen, or goes on. What it has on record
      stays: calls with results, and what was said before a call. */
  start({ turn_id: id, user_ids: users }) {
    const known = this.turns.find((turn) => turn.id === id);
    const segments = withoutTail(known?.segments ?? []).filter((segment) => !segment.call?.running);
    this.turns = this.turns.filter((turn) => turn.over && turn.id !== id);
    this.turns.push({ id, users, segments, gap: false, over: false });
  }

  /** A card that waits is shown once, and then decided. */
  show(card) {
    if (!card.until) this.cards.set(card.key, card);
    else if (!this.cards.has(card.key)) this.cards.set(card.key, { ...card, pressed: false, over: false, outcome: "" });
  }

  settle({ key, text }) {
    const card = this.cards.get(key);
    if (card) Object.assign(card, { over: true, outcome: text });
  }

  /** How it was decided will be told. */
  closeQuestion() {
    if (this.question) this.question.over = true;
  }

  /** A turn whose start was not seen, as after a reload; it most likely answers what waits here. */
  startHalfway() {
    const turn = { id: null, users: this.pending.map((message) => message.id), segments: [], gap: true, over: false };
    this.turns.push(turn);
    return turn;
  }

  end({ turn_id: id, text, failed, note, ...beside }) {
    const turn = this.turns.find((candidate) => candidate.id === id) ?? this.turns.find((candidate) => !candidate.over);
    const { users } = turn ?? { users: this.pending.map((message) => message.id) };
    for (const message of this.sent) message.answered ||= users.includes(message.id);
    this.storeSent();
    const { files = [], cards = [], buttons = [], ratings = [] } = beside;
    const ending = { text, failed: Boolean(failed), note: note ?? "", files, cards, buttons, ratings };
    if (users.length) this.endings.set(users.at(-1), ending);
    if (users.length && ratings.length) keepRatings(this.id, users.at(-1), ending);
    if (turn) Object.assign(turn, { over: true, reply: ending });
    else if (users.length) this.turns.push({ id, users, segments: [], gap: true, over: true, reply: ending });
  }

  historyItems() {
    const items = [];
    let ending;
    let isTaken = false;
    this.history.forEach((entry, index) => {
      if (entry.role === "user") {
        isTaken = this.taken.has(entry.id);
        if (isTaken) return;
        items.push({ kind: "user", id: entry.id, text: entry.text, files: entry.files, at: entry.at });
        ending = this.endings.get(entry.id);
        return;
      }
      if (entry.role === "scheduled") {
        [ending, isTaken] = [this.endings.get(entry.id), false];
        return;
      }
      if (isTaken) return;
      const last = this.history[index + 1]?.role !== "model";
      const { text, files, cards, buttons } = entry;
      const answer = { text, files, cards, buttons, ...(last ? ending : {}) };
      if (answer.text) items.push({ kind: "answer", whole: true, ...answer });
      for (const call of entry.calls) items.push(...this.callItems({ ...call, ms: this.durations.get(call.id) }));
    });
    return items;
  }

  turnItems(turn) {
    const users = this.sent.filter((message) => turn.users.includes(message.id));
    const items = users.map((message) => ({ kind: "user", ...message }));
    const segments = turn.over ? withoutTail(turn.segments) : turn.segments;
    for (const { call, text } of segments) items.push(...(call ? this.callItems(call) : [{ kind: "answer", text }]));
    if (turn.over) items.push({ kind: "answer", whole: true, ...turn.reply });
    return items;
  }

  /** A call stands beneath the question about it, and not before that is decided; above the card that it has made. */
  callItems(call) {
    const question = [...this.cards.values()].findLast((card) => card.until && card.call_id === call.id);
    const key = Object.values(call.response ?? {}).find((value) => this.cards.has(value));
    const items = [{ kind: "tool", call }, ...(key ? [{ kind: "buttons", card: this.cards.get(key) }] : [])];
    if (!question) return items;
    return [{ kind: "question", card: question }, ...(question.over ? items : [])];
  }

  /** Another tab with the same conversation has sent something. */
  readSentAgain() {
    const known = new Set(this.history.map((entry) => entry.id));
    this.sent = readSent(this.id).filter((message) => !known.has(message.id));
  }

  storeSent() {
    if (this.sent.length) localStorage.setItem(STORED + this.id, JSON.stringify(this.sent));
    else localStorage.removeItem(STORED + this.id);
  }
}

/** An id nobody guesses, of letters, digits, - and _. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

function readSent(id) {
  return kept(STORED + id).filter((message) => Date.now() - message.at < KEEP_MS);
}

/** Cards of answers that have buttons by now stand, as they are, below the last answer that shows them. */
function withLists(items, cards) {
  const shown = new Set();
  const backwards = items.toReversed().flatMap((item) => {
    const keys = (item.cards ?? []).map((card) => card.key).filter((key) => cards.has(key));
    if (!keys.length) return [item];
    const newest = [...new Set(keys)].filter((key) => !shown.has(key));
    for (const key of newest) shown.add(key);
    const without = { ...item, cards: item.cards.filter((card) => !keys.includes(card.key)) };
    return [...newest.map((key) => ({ kind: "buttons", card: cards.get(key) })), without];
  });
  return backwards.toReversed();
}

function keyed(items) {
  let anchor = "";
  let answers = 0;
  let day = new Date().toDateString();
  return items.flatMap((item) => {
    if (item.kind === "tool") return { ...item, key: `tool ${item.call.id}` };
    if (item.card) return { ...item, key: `card ${item.card.key}` };
    if (item.kind === "answer") return { ...item, key: `answer ${anchor} ${(answers += 1)}` };
    [anchor, answers] = [item.id, 0];
    const user = { ...item, key: `user ${item.id}` };
    if (new Date(item.at).toDateString() === day) return user;
    day = new Date(item.at).toDateString();
    return [{ kind: "day", at: item.at, key: `day ${item.id}` }, user];
  });
}
