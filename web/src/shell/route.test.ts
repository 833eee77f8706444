import { expect, test } from 'vitest';
import { documentPath, roomPath, routeOf } from './route';

test('every view has its address', () => {
  expect(routeOf('/')).toEqual({ view: 'home' });
  expect(routeOf('/rooms')).toEqual({ view: 'rooms' });
  expect(routeOf('/rooms/')).toEqual({ view: 'rooms' });
  expect(routeOf('/rooms/r1')).toEqual({ view: 'room', id: 'r1' });
  expect(routeOf('/agents/a1')).toEqual({ view: 'agent', id: 'a1' });
  expect(routeOf('/people')).toEqual({ view: 'people' });
});

test('an address survives the way there and back', () => {
  expect(documentPath('r 1', 'd&1')).toBe('/rooms/r%201?doc=d%261');
  expect(routeOf(roomPath('a/b %'))).toEqual({ view: 'room', id: 'a/b %' });
});

test('anything else is unknown, and broken escapes do not break the page', () => {
  for (const path of ['/settings', '/rooms/a/b', '/people/x', '/rooms/%E0%A4%A']) {
    expect(routeOf(path)).toEqual({ view: 'unknown', path });
  }
});
