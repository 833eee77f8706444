/** Where letters are words. */

/** True for what one writes in, also where it is hidden in a shadow tree. */
export function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.shadowRoot?.activeElement != null || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
