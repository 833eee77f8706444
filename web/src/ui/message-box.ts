/**
 * Message boxes: where one writes in a room, a thread or a session.
 * A message box takes the focus when its place opens and after an answer, so that what a person types
 * lands in it. It takes it from nobody who is somewhere on purpose: in a text field, in a dialog, or at
 * something of the view that they went to by themselves. On a touch screen it never takes the focus by
 * itself, because there that opens the keyboard over half of the page.
 */

import { isTextField } from './text-fields';

/** Those on the page; the one that came last is where one writes. */
const boxes: HTMLElement[] = [];

/** Attaches to a message box; `opens` is false where another one beside it is the one to write in. */
export const messageBox =
  (opens: boolean) =>
  (box: HTMLElement): (() => void) => {
    boxes.push(box);
    if (opens && mayTake(box, null)) box.focus({ preventScroll: true });
    return () => boxes.splice(boxes.indexOf(box), 1);
  };

/** True while one writes in a message box, which then is where the keyboard is. */
export const isInMessageBox = (): boolean => boxes.some((box) => box === document.activeElement);

/** Gives the focus to the message box beside `from`, where an answer was given; false where there is none, or it may not. */
export function focusMessageBox(from: HTMLElement | null): boolean {
  const box = boxes.at(-1);
  if (!box || !mayTake(box, from)) return false;
  box.focus({ preventScroll: true });
  return true;
}

function mayTake(box: HTMLElement, from: HTMLElement | null): boolean {
  if (matchMedia('(pointer: coarse)').matches) return false;
  const dialog = [...document.querySelectorAll('dialog:modal')].at(-1);
  if (dialog && !dialog.contains(box)) return false;
  const at = document.activeElement;
  if (!(at instanceof HTMLElement) || at === document.body || from?.contains(at)) return true;
  if (isTextField(at)) return false;
  // A heading or a list that was only given the focus is nowhere a person went; a link of the rail led here.
  return at.tabIndex < 0 || !document.querySelector('main')?.contains(at);
}
