/** Files dragged over an element join the message that is written there. */

import { filesOf } from './upload-queue';
import type { Uploads } from './uploads.svelte';

const holdsFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;

/** For `{@attach}`; while files are over the element it carries `data-dropping`. Null takes none. */
export function acceptDrops(uploads: Uploads | null): (element: HTMLElement) => (() => void) | void {
  return (element) => {
    if (!uploads) return;
    let depth = 0;
    const show = (by: number) => {
      depth = Math.max(0, depth + by);
      element.toggleAttribute('data-dropping', depth > 0);
    };
    const listening = new AbortController();
    const on = (type: 'dragenter' | 'dragover' | 'dragleave' | 'drop', hear: (event: DragEvent) => void) =>
      element.addEventListener(type, (event) => holdsFiles(event) && hear(event), { signal: listening.signal });
    on('dragenter', () => show(1));
    on('dragleave', () => show(-1));
    on('dragover', (event) => event.preventDefault());
    on('drop', (event) => {
      event.preventDefault();
      show(-depth);
      uploads.add(filesOf(event.dataTransfer));
    });
    return () => {
      listening.abort();
      element.removeAttribute('data-dropping');
    };
  };
}

/** Elsewhere on the page a file is not taken; without this the browser would leave the page to open it. */
export function refuseDrop(event: DragEvent): void {
  if (!holdsFiles(event) || event.defaultPrevented) return;
  event.preventDefault();
  if (event.dataTransfer) event.dataTransfer.dropEffect = 'none';
}
