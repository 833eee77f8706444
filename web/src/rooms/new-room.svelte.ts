/** Whether the "new room" dialog is open, and for which kind; it can be opened from everywhere. */

class NewRoom {
  kind = $state<'channel' | 'dm' | null>(null);

  open(kind: 'channel' | 'dm'): void {
    this.kind = kind;
  }

  close = (): void => {
    this.kind = null;
  };
}

export const newRoom = new NewRoom();
