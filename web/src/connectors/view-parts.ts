/** The parts of the view and their addresses. Pure. */

export type ViewPart = 'accounts' | 'services' | 'providers' | 'executions';

export const viewParts: { id: ViewPart; name: string }[] = [
  { id: 'accounts', name: 'Accounts' },
  { id: 'services', name: 'Services' },
  { id: 'providers', name: 'Providers' },
  { id: 'executions', name: 'Executions' },
];

const ROOT = '/connections';

export const partPath = (part: ViewPart): string => (part === 'accounts' ? ROOT : `${ROOT}?show=${part}`);
/** The review of one connection. */
export const reviewPath = (connectionId: string): string => `${ROOT}?review=${encodeURIComponent(connectionId)}`;

/** What an address shows; whatever is not known shows the accounts. */
export function viewPartOf(query: URLSearchParams): { part: ViewPart } | { review: string } {
  const review = query.get('review');
  if (review) return { review };
  return { part: viewParts.find(({ id }) => id === query.get('show'))?.id ?? 'accounts' };
}
