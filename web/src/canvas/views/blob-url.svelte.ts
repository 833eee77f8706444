/** An address for bytes that lie in this page, given back when they change or the view goes. */

export function blobUrl(bytes: () => Uint8Array<ArrayBuffer> | null, mime: () => string): { readonly href: string } {
  let href = $state('');
  $effect(() => {
    const now = bytes();
    if (now === null) return;
    const made = URL.createObjectURL(new Blob([now], { type: mime() }));
    href = made;
    return () => {
      href = '';
      URL.revokeObjectURL(made);
    };
  });
  return {
    get href() {
      return href;
    },
  };
}
