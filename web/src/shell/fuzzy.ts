/** Finds by a few letters in order, as one types them into the palette. Pure. */

/** How well `query` fits `text`; higher is better, null when the letters are not all there in order. */
export function fuzzyScore(query: string, text: string): number | null {
  const want = query.toLowerCase().replace(/\s+/g, '');
  const have = text.toLowerCase();
  if (want === '') return 0;
  const whole = have.indexOf(want);
  if (whole !== -1) return 1000 - whole * 2 + (startsWord(have, whole) ? 200 : 0) - have.length * 0.1;
  let score = 0;
  let from = 0;
  for (const letter of want) {
    const at = have.indexOf(letter, from);
    if (at === -1) return null;
    score += startsWord(have, at) ? 12 : at === from && from > 0 ? 8 : 1;
    score -= (at - from) * 0.2;
    from = at + 1;
  }
  return score;
}

function startsWord(text: string, at: number): boolean {
  return at === 0 || /[\s@#._/-]/.test(text[at - 1] ?? '');
}

/** The items that fit, best first; equal ones keep their order. */
export function fuzzyFilter<Item>(query: string, items: readonly Item[], words: (item: Item) => string): Item[] {
  return items
    .map((item, index) => ({ item, index, score: fuzzyScore(query, words(item)) }))
    .filter((found): found is typeof found & { score: number } => found.score !== null)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .map(({ item }) => item);
}
