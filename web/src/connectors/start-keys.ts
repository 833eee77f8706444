/** The keys by which a repeated start is known. Pure. */

/**
 * One key for one request until an answer came: whoever presses again after a lost answer gets the flow
 * that was begun, and another request never travels under the key of the first.
 */
export class StartKeys {
  #keys = new Map<string, string>();
  #make: () => string;

  constructor(make: () => string) {
    this.#make = make;
  }

  /** Asks under the key of `request`, which is forgotten once the server answered, whatever it said. */
  async with<Answer>(request: unknown, ask: (key: string) => Promise<Answer>, answered: (error: unknown) => boolean): Promise<Answer> {
    const name = JSON.stringify(request);
    const key = this.#keys.get(name) ?? this.#make();
    this.#keys.set(name, key);
    try {
      const answer = await ask(key);
      this.#keys.delete(name);
      return answer;
    } catch (error) {
      if (answered(error)) this.#keys.delete(name);
      throw error;
    }
  }
}
