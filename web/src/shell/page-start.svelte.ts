/** The start of the page: who am I, what is there, then the stream from where the readings stand. */

import { accounts } from '../accounts/accounts.svelte';
import { apiKeys } from '../accounts/api-keys.svelte';
import { session } from '../accounts/session.svelte';
import { agents } from '../agents/agents.svelte';
import { enclosure } from '../agents/enclosure.svelte';
import { agentTokens } from '../agents/agent-tokens.svelte';
import { approvals } from '../approvals/approvals.svelte';
import { api } from '../api/client';
import { authors } from '../authors/authors.svelte';
import { localBrowser } from '../browser/local-browser.svelte';
import { cloud } from '../cloud/link.svelte';
import { commandLists } from '../commands/commands.svelte';
import { catalog } from '../connectors/catalog.svelte';
import { connections } from '../connectors/connections.svelte';
import { authFlows } from '../connectors/auth-flows.svelte';
import { providers } from '../connectors/providers.svelte';
import { sessionConnections } from '../connectors/session-connections.svelte';
import { usage as executions } from '../connectors/execution-log.svelte';
import { stream } from '../events/stream.svelte';
import { interactions } from '../interactions/interactions.svelte';
import { servers } from '../mcp-servers/servers.svelte';
import { signIns } from '../mcp-servers/signins.svelte';
import { openRooms } from '../rooms/open-room.svelte';
import { rooms } from '../rooms/rooms.svelte';
import { runtimes } from '../runtimes/runtimes.svelte';
import { openSessions } from '../sessions/open-session.svelte';
import { sessions } from '../sessions/sessions.svelte';
import { terminalSessions } from '../sessions/terminal-sessions.svelte';
import { taskLists } from '../session-tasks/task-lists.svelte';
import { settings } from '../settings/settings.svelte';
import { storeDamage } from '../storage/damage.svelte';
import { threads } from '../threads/threads.svelte';
import { toasts } from '../ui/toasts.svelte';

class Boot {
  ready = $state(false);
  error = $state<unknown>(null);
  version = $state('');

  run = async (): Promise<void> => {
    this.error = null;
    try {
      const [who, health] = await Promise.all([api.whoami(), api.health()]);
      session.take(who.body);
      this.version = health.body.version;
      if (who.body.caller === null) await session.learnWhy();
      if (session.need !== '' || session.inDoubt) return;
      await Promise.all([authors.load(), rooms.load(), agents.load()]);
      this.#listen(health.body.logId);
      // Each says itself what became of it; the rest of the page does not wait for it.
      void sessions.load();
      void interactions.load();
      void approvals.load();
      servers.loadFor(agents.active.map(({ id }) => id));
      if (session.isOwner) {
        void connections.load();
        void providers.load();
        void authFlows.load();
        void cloud.load();
      }
      storeDamage.watch();
      this.ready = true;
    } catch (error) {
      this.error = error;
    }
  };

  #listen(logId: string): void {
    stream.onEvent((event) => {
      authors.applyEvent(event);
      agents.applyEvent(event);
      agentTokens.applyEvent(event);
      rooms.applyEvent(event);
      openRooms.applyEvent(event);
      threads.applyEvent(event);
      accounts.applyEvent(event);
      apiKeys.applyEvent(event);
      settings.applyEvent(event);
      enclosure.applyEvent(event);
      sessions.applyEvent(event);
      interactions.applyEvent(event);
      approvals.applyEvent(event);
      servers.applyEvent(event);
      signIns.applyEvent(event);
      openSessions.applyEvent(event);
      terminalSessions.applyEvent(event);
      taskLists.applyEvent(event);
      commandLists.applyEvent(event);
      runtimes.applyEvent(event);
      localBrowser.applyEvent(event);
      providers.applyEvent(event);
      connections.applyEvent(event);
      authFlows.applyEvent(event);
      sessionConnections.applyEvent(event);
      catalog.applyEvent(event);
      executions.applyEvent(event);
      cloud.applyEvent(event);
    });
    stream.onSignal(openRooms.applySignal);
    stream.onSignal(localBrowser.applySignal);
    stream.onReset(() => {
      void Promise.all([authors.load(), agents.load(), rooms.load()]).catch((error: unknown) => toasts.fail(error));
      openRooms.reload();
      agentTokens.reload();
      threads.reload();
      settings.reload();
      enclosure.reload();
      void sessions.load();
      void interactions.load();
      void approvals.load();
      servers.reload();
      openSessions.reload();
      taskLists.reload();
      commandLists.reload();
      runtimes.reload();
      localBrowser.reload();
      providers.reload();
      connections.reload();
      authFlows.reload();
      sessionConnections.reload();
      catalog.reload();
      executions.reload();
      cloud.reload();
    });
    stream.start(Math.min(authors.seq, rooms.seq, agents.seq), logId);
  }
}

export const boot = new Boot();
