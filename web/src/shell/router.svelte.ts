/** The address bar as state: every view has its own address, and reload restores it. */

import { routeOf, type Route } from './route';

class Router {
  path = $state(location.pathname);
  /** What stands behind the `?`, with it; `""` when nothing does. */
  search = $state(location.search);
  route: Route = $derived(routeOf(this.path));
  query = $derived(new URLSearchParams(this.search));
  /** The canvas document the address names; `""` when none. */
  doc = $derived(this.query.get('doc') ?? '');

  constructor() {
    addEventListener('popstate', () => this.#arrive());
    document.addEventListener('click', (event) => this.#follow(event));
  }

  /** Goes to a path, with its query if it has one. */
  go(to: string): void {
    if (to === location.pathname + location.search) return;
    history.pushState(null, '', to);
    this.#arrive();
  }

  /** Writes another address of the present view; "back" does not stop at the old one. */
  replace(to: string): void {
    if (to === location.pathname + location.search) return;
    history.replaceState(null, '', to);
    this.#arrive();
  }

  #arrive(): void {
    this.path = location.pathname;
    this.search = location.search;
  }

  /** Ordinary links inside the page change the view without a load; all others stay the browser's. */
  #follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (/^\/(docs|api)(\/|$)/.test(link.pathname)) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const router = new Router();
