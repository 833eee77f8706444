import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import type { CanvasDocument } from '../src/api/types';
import { openSession } from './session-actions';
import { composer, expect, live, say, test, texts, type TestServer } from './test-server';
import { expectAccessible, viewports } from './view-checks';

// Every address of this computer, so that the second person comes from another one.
test.use({ start: { auth: 'login', flags: ['--allowed-host', '127.0.0.2'], bind: '0.0.0.0:0' } });

const OWNER = { email: 'ada@example.org', displayName: 'Ada Lovelace', password: 'a rather long password' };
const BEN = { email: 'ben@example.org', displayName: 'Ben', password: 'quite another password' };

const second = (server: TestServer) => server.url.replace('127.0.0.1', '127.0.0.2');

/** The first account, made without a page. */
async function owned(server: TestServer): Promise<void> {
  await server.post('/api/auth/register', { ...OWNER, setupCode: server.setupCode });
}

async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

test('the first visitor makes the first account with the setup code', async ({ server, windows }) => {
  const page = await windows.open('/rooms', { live: false });
  await expect(page.getByRole('heading', { name: 'Make the first account' })).toBeVisible();
  await expect(page.getByText('kept in the file setup-code of its data folder')).toBeVisible();
  await page.getByLabel('Setup code').fill('A'.repeat(26));
  await page.getByLabel('E-mail').fill('ada');
  await page.getByLabel('Your name').fill(OWNER.displayName);
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByLabel('The same password again').fill('short');
  const make = page.getByRole('button', { name: 'Make the account' });
  await make.click();
  await expect(page.getByText('Use at least 12 characters; these are 5.')).toBeVisible();
  await page.getByLabel('Password', { exact: true }).fill(OWNER.password);
  await page.getByLabel('The same password again').fill(OWNER.password);
  await make.click();
  await expect(page.getByRole('alert')).toHaveText('Must look like ada@example.org.');
  await page.getByLabel('E-mail').fill(OWNER.email);
  await make.click();
  await expect(page.getByText('That is not the setup code.')).toBeVisible();
  await page.getByLabel('Setup code').fill(server.setupCode.toLowerCase());
  await make.click();

  await live(page);
  await expect(page).toHaveURL(`${server.url}/rooms`);
  await expect(page.getByRole('button', { name: `Signed in as ${OWNER.displayName}` })).toBeVisible();
  await expect(page.getByRole('main').getByRole('link', { name: /team/i })).toBeVisible();
});

test('signing in and out: wrong words are refused, the address and drafts stay', async ({ server, windows }) => {
  await owned(server);
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`, { live: false });
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  await signIn(page, { ...OWNER, password: 'not the password at all' });
  await expect(page.getByRole('alert')).toContainText('E-mail and password do not belong together.');
  await signIn(page, OWNER);
  await live(page);
  await expect(page).toHaveURL(`${server.url}/rooms/${team.id}`);
  await composer(page).fill('half a thought');

  // The sign-in ends elsewhere, while the page is open: the next call finds out.
  await page.context().clearCookies();
  await composer(page).press('Enter');
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  await signIn(page, OWNER);
  await live(page);
  await expect(page).toHaveURL(`${server.url}/rooms/${team.id}`);
  await page.getByRole('button', { name: 'Send again' }).click();
  await expect.poll(() => texts(page)).toEqual(['half a thought']);

  const twin = await page.context().newPage();
  await twin.goto(`${server.url}/people`);
  await live(twin);
  await page.getByRole('button', { name: /^Signed in as/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  for (const tab of [page, twin]) await expect(tab.getByRole('heading', { name: 'Sign in' })).toBeVisible();
});

test('a second person signs in from another address and sees what the gates allow', async ({ server, windows }) => {
  await owned(server);
  const team = await server.team();
  const ada = await windows.open('/settings/people', { live: false });
  await signIn(ada, OWNER);
  await live(ada);
  await expect(ada.getByText('Only you have an account.')).toBeVisible();
  await ada.getByRole('button', { name: 'Add a person' }).click();
  const dialog = ada.getByRole('dialog');
  await dialog.getByLabel('Their name').fill(BEN.displayName);
  await dialog.getByLabel('Their e-mail').fill(OWNER.email);
  await dialog.getByRole('button', { name: 'Make the account' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Somebody has an account with this e-mail already.');
  await dialog.getByLabel('Their e-mail').fill(BEN.email);
  await dialog.getByRole('button', { name: 'Make the account' }).click();
  const invited = await dialog.getByTestId('secret').innerText();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(ada.getByText(BEN.email)).toBeVisible();
  expect(await ada.content()).not.toContain(invited);

  const ben = await windows.open(`/rooms/${team.id}`, { live: false, at: second(server) });
  await signIn(ben, { email: BEN.email, password: invited });
  await expect(ben.getByRole('heading', { name: 'Choose your own password' })).toBeVisible();
  await ben.getByLabel('New password', { exact: true }).fill(BEN.password);
  await ben.getByLabel('The new password again').fill(BEN.password);
  await ben.getByRole('button', { name: 'Use this password' }).click();
  await live(ben);
  await expect(ben).toHaveURL(`${second(server)}/rooms/${team.id}`);

  // Both talk, live, each under their own name.
  await say(ben, 'hello from the other side');
  await ada.goto(`${server.url}/rooms/${team.id}`);
  await expect.poll(() => texts(ada)).toEqual(['hello from the other side']);
  await expect(ada.getByRole('article', { name: /^Ben/ })).toBeVisible();
  await say(ada, 'welcome');
  await expect.poll(() => texts(ben)).toEqual(['hello from the other side', 'welcome']);

  // A person removes their own words, not those of others; the owner removes any.
  const menuOf = async (page: Page, text: string) => {
    const entry = page.locator('[data-entry]').filter({ hasText: text });
    await entry.hover();
    await entry.getByRole('button', { name: 'More about this entry' }).click();
    const items = await page.getByRole('menuitem').allInnerTexts();
    await page.keyboard.press('Escape');
    return items.map((item) => item.trim());
  };
  expect(await menuOf(ben, 'welcome')).not.toContain('Remove text for good…');
  expect(await menuOf(ben, 'hello from the other side')).toContain('Remove text for good…');
  expect(await menuOf(ada, 'hello from the other side')).toContain('Remove text for good…');

  // Neither people nor the server's settings are offered, by link or by address.
  await ben.goto(`${second(server)}/settings`);
  const sections = ben.getByRole('navigation', { name: 'Sections of the settings' }).getByRole('link');
  await expect(sections).toHaveText(['Appearance', 'Your account', 'Devices and keys', 'Cloud']);
  for (const section of ['people', 'server']) {
    await ben.goto(`${second(server)}/settings/${section}`);
    await expect(ben.getByText('Only the owner sees this')).toBeVisible();
  }
  const asked = (path: string) => ben.evaluate(async (to) => (await fetch(to)).status, path);
  expect([await asked('/api/settings'), await asked('/api/auth/accounts'), await asked('/api/rooms')]).toEqual([403, 403, 200]);

  // Removed, Ben is out at once; the words stay.
  await ben.goto(`${second(server)}/rooms/${team.id}`);
  await live(ben);
  await ada.goto(`${server.url}/settings/people`);
  await ada.getByRole('button', { name: 'Remove Ben' }).click();
  await ada.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(ada.getByText(BEN.email)).toHaveCount(0);
  await expect(ben.getByRole('heading', { name: 'Sign in' })).toBeVisible({ timeout: 25_000 });
  await signIn(ben, BEN);
  await expect(ben.getByRole('alert')).toContainText('E-mail and password do not belong together.');
  await ada.goto(`${server.url}/rooms/${team.id}`);
  await expect.poll(() => texts(ada)).toEqual(['hello from the other side', 'welcome']);
});

test('keys are made, shown once, work, and are revoked', async ({ server, windows }) => {
  await owned(server);
  const page = await windows.open('/settings/devices', { live: false });
  await signIn(page, OWNER);
  await expect(page.getByText('You have no keys')).toBeVisible();
  await page.getByRole('button', { name: 'Make a key' }).click();
  await page.getByLabel('What is it for?').fill('a script');
  await page.getByRole('dialog').getByRole('button', { name: 'Make the key' }).click();
  const key = await page.getByTestId('secret').innerText();
  expect(key).toMatch(/^ghk_[\w-]{43}$/);
  await page.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText('a script')).toBeVisible();
  expect(await page.content()).not.toContain(key);
  const works = async () => (await fetch(`${server.url}/api/rooms`, { headers: { authorization: `Bearer ${key}` } })).status;
  expect(await works()).toBe(200);
  await page.getByRole('button', { name: 'Revoke a script' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByText('You have no keys')).toBeVisible();
  expect(await works()).toBe(401);
});

test('a changed password signs out the other browsers', async ({ server, windows }) => {
  await owned(server);
  const here = await windows.open('/settings/account', { live: false });
  await signIn(here, OWNER);
  await live(here);
  const there = await windows.open('/rooms', { live: false });
  await signIn(there, OWNER);
  await live(there);

  await here.getByLabel('Present password').fill('not it, not it, not it');
  await here.getByLabel('New password', { exact: true }).fill(BEN.password);
  await here.getByLabel('The new password again').fill(BEN.password);
  await here.getByRole('button', { name: 'Change password' }).click();
  await expect(here.getByText('That is not your present password.')).toBeVisible();
  await here.getByLabel('Present password').fill(OWNER.password);
  await here.getByRole('button', { name: 'Change password' }).click();
  await expect(here.getByText('Your password is changed.')).toBeVisible();
  await expect(there.getByRole('heading', { name: 'Sign in' })).toBeVisible({ timeout: 25_000 });
  await signIn(there, { ...OWNER, password: BEN.password });
  await live(there);
});

test('what one person left unsent is not shown to the next one of this browser', async ({ server, windows }) => {
  await owned(server);
  const { invitePassword } = await server.post<{ invitePassword: string }>('/api/auth/accounts', { email: BEN.email, displayName: BEN.displayName });
  const team = await server.team();
  const page = await windows.open(`/rooms/${team.id}`, { live: false });
  await signIn(page, OWNER);
  await composer(page).fill('for my eyes only');
  await page.getByRole('button', { name: /^Signed in as/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await signIn(page, { email: BEN.email, password: invitePassword });
  await page.getByLabel('New password', { exact: true }).fill(BEN.password);
  await page.getByLabel('The new password again').fill(BEN.password);
  await page.getByRole('button', { name: 'Use this password' }).click();
  await expect(composer(page)).toHaveValue('');
});

test('who is not the owner saves a file on a canvas too, and hears of the saves of others there', async ({ server, windows }) => {
  await owned(server);
  const { invitePassword } = await server.post<{ invitePassword: string }>('/api/auth/accounts', { email: BEN.email, displayName: BEN.displayName });
  await server.patch('/api/settings', { 'files.people': 'boundary' });
  const folder = server.folder('project');
  const file = join(folder, 'notes.txt');
  writeFileSync(file, 'one');
  const session = await openSession(server, 'project');
  const { id } = await server.post<CanvasDocument>(`/api/sessions/${session.id}/canvas`, { content: { type: 'file', sourcePath: file } });
  const address = `/sessions/${session.id}?doc=${id}`;

  const ada = await windows.open(address, { live: false });
  await signIn(ada, OWNER);
  await live(ada);
  const ben = await windows.open(address, { live: false, at: second(server) });
  await signIn(ben, { email: BEN.email, password: invitePassword });
  await ben.getByLabel('New password', { exact: true }).fill(BEN.password);
  await ben.getByLabel('The new password again').fill(BEN.password);
  await ben.getByRole('button', { name: 'Use this password' }).click();
  await live(ben);

  const write = async (page: Page, words: string) => {
    const text = page.getByRole('textbox', { name: /^Text of/ });
    await text.click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.type(words);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
  };
  await write(ben, ' two');
  await expect.poll(() => readFileSync(file, 'utf8')).toBe('one two');
  await expect(ada.getByText('Ben changed this file after you opened it.')).toBeVisible();
  await ada.getByRole('button', { name: 'Show it as it is now' }).click();
  await write(ada, ' three');
  await expect.poll(() => readFileSync(file, 'utf8')).toBe('one two three');
  await expect(ben.getByText('Ada Lovelace changed this file after you opened it.')).toBeVisible();
});

for (const look of viewports) {
  test(`the front door and the sections of an account are accessible, ${look.theme}, ${look.width} px`, async ({ server, windows }) => {
    const page = await windows.open('/', { ...look, live: false });
    await expect(page.getByRole('heading', { name: 'Make the first account' })).toBeVisible();
    await expectAccessible(page, 'first account');
    await page.getByRole('button', { name: 'Make the account' }).click();
    await expectAccessible(page, 'first account with errors');
    await owned(server);
    const { invitePassword } = await server.post<{ invitePassword: string }>('/api/auth/accounts', { email: BEN.email, displayName: BEN.displayName });
    await page.reload();
    await signIn(page, { ...OWNER, password: 'not the password at all' });
    await expect(page.getByRole('alert')).toBeVisible();
    await expectAccessible(page, 'sign in');
    await signIn(page, { email: BEN.email, password: invitePassword });
    await expect(page.getByRole('heading', { name: 'Choose your own password' })).toBeVisible();
    await expectAccessible(page, 'new password');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, OWNER);
    await live(page);
    for (const section of ['account', 'devices', 'people', 'server']) {
      await page.goto(`${server.url}/settings/${section}`);
      await expect(page.getByRole('main').getByRole('heading', { level: 2 }).first()).toBeVisible();
      await expectAccessible(page, section);
    }
    await page.goto(`${server.url}/settings/people`);
    await page.getByRole('button', { name: 'Add a person' }).click();
    await expectAccessible(page, 'invite dialog');
  });
}
