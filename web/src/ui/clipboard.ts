/** Copies a text; also on plain http off loopback, where the browser offers no clipboard of its own. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  // Inside an open dialog only its own content can take the focus.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  if (!copied) throw new Error('The browser did not let the page copy. Select the text and copy it by hand.');
}
