/** The address bar as state: every view has its own address, and reload restores it. */

import { routeOf, type Route } from './route';

class Router {
  path = $state(location.pathname);
  /** What stands behind the path: `?doc=…`, or `""`. */
  search = $state(location.search);
  route: Route = $derived(routeOf(this.path));
  /** The canvas document the address names; `""` when none. */
  doc = $derived(new URLSearchParams(this.search).get('doc') ?? '');

  constructor() {
    addEventListener('popstate', () => this.#arrive());
    document.addEventListener('click', (event) => this.#follow(event));
  }

  go(path: string): void {
    if (path === location.pathname + location.search) return;
    history.pushState(null, '', path);
    this.#arrive();
  }

  /** The address of what one looks at inside the view: going back leaves the view, not each look. */
  replace(path: string): void {
    history.replaceState(null, '', path);
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
    if (!link || link.target || link.origin !== location.origin || link.pathname.startsWith('/docs')) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const router = new Router();
