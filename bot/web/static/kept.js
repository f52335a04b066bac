// Lists that this browser keeps, each under a name, the newest entry first.

/** None where they cannot be read. */
export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "[]").filter(Boolean);
  } catch {
    return [];
  }
}

/** Keep these entries and no others. */
export function keepAll(name, entries) {
  localStorage.setItem(name, JSON.stringify(entries));
}

/** Put an entry before the others, in place of one that is the same in these fields. */
export function keep(name, entry, fields, most) {
  const others = kept(name).filter((one) => fields.some((field) => one[field] !== entry[field]));
  keepAll(name, [entry, ...others].slice(0, most));
}

/** Drop the entries of a conversation: those with its id. */
export function forget(name, id) {
  keepAll(name, kept(name).filter((one) => one.id !== id));
}
