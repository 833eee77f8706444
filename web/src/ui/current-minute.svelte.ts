/** The present minute, for relative times that stay true without a reload. */

class Now {
  at = $state(new Date());

  constructor() {
    setInterval(() => (this.at = new Date()), 30_000);
  }
}

export const now = new Now();
