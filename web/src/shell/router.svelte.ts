/** The address bar as state: every view has its own address, and reload restores it. */

import { routeOf, type Route } from './route';

class Router {
  path = $state(location.pathname);
  route: Route = $derived(routeOf(this.path));

  constructor() {
    addEventListener('popstate', () => (this.path = location.pathname));
    document.addEventListener('click', (event) => this.#follow(event));
  }

  go(path: string): void {
    if (path === location.pathname) return;
    history.pushState(null, '', path);
    this.path = path;
  }

  /** Ordinary links inside the page change the view without a load; all others stay the browser's. */
  #follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.origin !== location.origin || link.pathname.startsWith('/docs')) return;
    event.preventDefault();
    this.go(link.pathname);
  }
}

export const router = new Router();
