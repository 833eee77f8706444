/** What agents may do with a connection: the choice a person makes from the list of a review. Pure. */

import { classifications } from './texts';
import type { Classification, Review, OperationRevision, GrantSelection } from './types';

/** Stands for every agent there is and will be, where an agent's id stands. */
export const EVERYONE = '';

/** Revisions by who may run them: an agent's id, or `EVERYONE`. */
export type Choice = ReadonlyMap<string, ReadonlySet<string>>;

/** What is granted now, as far as it is still in the list. */
export function choiceOf({ operations, agents, currentGrants, everyAgent }: Review): Choice {
  const listed = new Set(operations.map(({ id }) => id));
  const still = (ids: readonly string[]) => new Set(ids.filter((id) => listed.has(id)));
  const choice = new Map<string, ReadonlySet<string>>([[EVERYONE, still(everyAgent)]]);
  for (const { id } of agents) choice.set(id, new Set());
  for (const { agentId, operationRevisionIds } of currentGrants) if (choice.has(agentId)) choice.set(agentId, still(operationRevisionIds));
  return choice;
}

/** How many granted operations are in the list no more as they were granted. */
export function outdatedCount({ operations, currentGrants, everyAgent }: Review): number {
  const listed = new Set(operations.map(({ id }) => id));
  const granted = new Set([...everyAgent, ...currentGrants.flatMap(({ operationRevisionIds }) => operationRevisionIds)]);
  return [...granted].filter((id) => !listed.has(id)).length;
}

export const isSelected = (choice: Choice, who: string, id: string): boolean => choice.get(who)?.has(id) ?? false;

/** The choice with these revisions given to `who`, or taken away. */
export function withSelection(choice: Choice, who: string, ids: readonly string[], on: boolean): Choice {
  const held = new Set(choice.get(who));
  for (const id of ids) {
    if (on) held.add(id);
    else held.delete(id);
  }
  return new Map(choice).set(who, held);
}

/** How a box of a whole group stands: all of it, none, or some. */
export function selectionState(choice: Choice, who: string, ids: readonly string[]): 'all' | 'none' | 'some' {
  const held = ids.filter((id) => isSelected(choice, who, id)).length;
  return held === 0 ? 'none' : held === ids.length ? 'all' : 'some';
}

/** What is sent: nobody with nothing. */
export function selectionOf(choice: Choice): GrantSelection {
  const grants = [...choice]
    .filter(([who, ids]) => who !== EVERYONE && ids.size > 0)
    .map(([agentId, ids]) => ({ agentId, operationRevisionIds: [...ids] }));
  return { grants, everyAgent: [...(choice.get(EVERYONE) ?? [])] };
}

/** How many boxes stand otherwise than they did. */
export function differences(before: Choice, now: Choice): number {
  let count = 0;
  for (const who of new Set([...before.keys(), ...now.keys()])) {
    const [was, is] = [before.get(who) ?? new Set<string>(), now.get(who) ?? new Set<string>()];
    for (const id of new Set([...was, ...is])) if (was.has(id) !== is.has(id)) count++;
  }
  return count;
}

/**
 * What a person had chosen, in a list that was made anew. A revision has another id once anything of
 * it changed, so only what is exactly the same is carried over; the rest stands in `lost`.
 */
export function carriedOver(choice: Choice, next: Review): { choice: Choice; lost: number } {
  const listed = new Set(next.operations.map(({ id }) => id));
  const known = new Set([EVERYONE, ...next.agents.map(({ id }) => id)]);
  const carried = new Map<string, ReadonlySet<string>>([...choiceOf(next).keys()].map((who) => [who, new Set()]));
  let lost = 0;
  for (const [who, ids] of choice) {
    const still = new Set([...ids].filter((id) => known.has(who) && listed.has(id)));
    lost += ids.size - still.size;
    if (known.has(who)) carried.set(who, still);
  }
  return { choice: carried, lost };
}

export type Group = { id: Classification; name: string; means: string; operations: OperationRevision[] };

/** Operations by class, mildest first, those with all of the words `query`; empty groups are left out. */
export function groupsOf(operations: readonly OperationRevision[], query: string): Group[] {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const fits = ({ operationSlug, title, description }: OperationRevision) => {
    const text = `${operationSlug} ${title} ${description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return classifications
    .map((one) => ({ ...one, operations: operations.filter((operation) => operation.classification === one.id && fits(operation)) }))
    .filter((group) => group.operations.length > 0);
}
