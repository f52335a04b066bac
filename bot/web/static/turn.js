// What live events make of a turn under way: its words, and its calls with their results.

export function addWords(turn, text) {
  const newest = turn.segments.at(-1);
  if (newest?.text !== undefined) newest.text += text;
  else turn.segments.push({ text });
}

export function dropWords(turn) {
  turn.segments = withoutTail(turn.segments);
  turn.gap = false;
}

export function withoutTail(segments) {
  return segments.at(-1)?.text === undefined ? segments : segments.slice(0, -1);
}

export function breakOff(turn) {
  dropWords(turn);
  turn.gap = true;
}

export function addCall(turn, { call_id: id, name, arguments: given, title }) {
  turn.gap = false;
  turn.segments.push({ call: { id, name, title, arguments: given, response: null, is_error: false, running: true } });
}

export function finishCall(turn, { call_id: id, name, response, is_error: isError, is_rejected: isRejected, ms }) {
  const known = turn.segments.find((segment) => segment.call?.id === id);
  const call = known?.call ?? { id, name, arguments: {} };
  Object.assign(call, { response, is_error: isError, is_rejected: isRejected, ms, running: false });
  if (!known) turn.segments.push({ call });
}
