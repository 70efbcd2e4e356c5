import type { Instant } from '../../model/instant.ts';
import type { OpenTrigger, Trigger } from '../../model/trigger.ts';
import type { Alert, AlertMessage } from './alert-message.ts';
import { fingerprintOf } from './fingerprint.ts';
import { whoseAlert } from './node-name.ts';
import { canonicalPci, gpuNumber } from './pci.ts';

export { type AlertMessage, MESSAGE_LIMITS, parseAlertMessage } from './alert-message.ts';

/**
 * What became of each alert of a message; every alert is counted once.
 *
 * | word | meaning |
 * |---|---|
 * | accepted | news: an episode begins, or ends |
 * | duplicates | told before: a firing one renews what it opened, a resolved one changes nothing |
 * | stale | firing, of an episode that was resolved already |
 * | untrusted | resolved, by a sender less trusted than the one who opened the episode |
 * | other_node | about another node |
 * | no_node | names no node, and did not come from this machine |
 * | no_name | carries no `alertname` |
 * | bad_target | names its GPU in a way that cannot be read; taken for no name it would mean every GPU |
 */
export const ALERT_OUTCOMES = [
  'accepted',
  'duplicates',
  'stale',
  'untrusted',
  'other_node',
  'no_node',
  'no_name',
  'bad_target',
] as const;
export type AlertOutcome = (typeof ALERT_OUTCOMES)[number];
export type AlertCounts = Readonly<Record<AlertOutcome, number>>;

export interface AlertContext {
  /** Name of this node (`--node.name`). */
  node: string;
  /** When the message was taken, steady time. */
  at: Instant;
  /** The sender proved who it is. */
  trusted: boolean;
  /** The sender is on this machine: a TCP peer on loopback, or one on a Unix socket. */
  peerIsLocal: boolean;
  /** What the book knows of an episode, open or closed. */
  known: (key: string) => OpenTrigger | undefined;
}

export interface AlertTriggers {
  triggers: Trigger[];
  counts: AlertCounts;
}

/** `fingerprint@startsAt`, the latter to the nanosecond: the fingerprint alone is the same for every episode of one label set. */
export function episodeKey(alert: Alert): string {
  return `${alert.fingerprint ?? fingerprintOf(alert.labels)}@${alert.startsAt.text}`;
}

/**
 * Triggers of a message, in its order. Each alert is judged by its own status and labels, never by those of its group, and
 * nothing is concluded from an alert that is not in the message.
 */
export function alertTriggers(message: AlertMessage, context: AlertContext): AlertTriggers {
  const counts = Object.fromEntries(ALERT_OUTCOMES.map((name) => [name, 0])) as Record<AlertOutcome, number>;
  const triggers: Trigger[] = [];
  /** Episodes that this very message spoke of already. */
  const told = new Map<string, 'open' | 'closed'>();
  for (const alert of message.alerts) {
    const judged = judge(alert, context, told);
    if (typeof judged === 'string') {
      counts[judged] += 1;
      continue;
    }
    counts[judged.phase === 'renew' ? 'duplicates' : 'accepted'] += 1;
    told.set(judged.key, judged.phase === 'close' ? 'closed' : 'open');
    triggers.push(judged);
  }
  return { triggers, counts };
}

function judge(
  alert: Alert,
  context: AlertContext,
  told: ReadonlyMap<string, 'open' | 'closed'>,
): Trigger | AlertOutcome {
  const { labels } = alert;
  const whose = whoseAlert(labels, context.node);
  if (whose === 'other') return 'other_node';
  if (whose === 'unsaid' && !context.peerIsLocal) return 'no_node';
  if (!labels.alertname) return 'no_name';
  const named = targetOf(labels);
  if (named === undefined) return 'bad_target';
  const key = episodeKey(alert);
  const phase = phaseOf(alert.status, context, context.known(key), told.get(key));
  if (phase !== 'open' && phase !== 'renew' && phase !== 'close') return phase;
  return {
    source: 'alert',
    name: labels.alertname,
    key,
    phase,
    ...(labels.node ? { node: labels.node } : {}),
    ...named,
    since: alert.startsAt.ms,
    at: context.at,
    values: { ...labels },
    trusted: context.trusted,
  };
}

/** The only way of an episode is from firing to resolved; peers do send late notices of what is over. */
function phaseOf(
  status: Alert['status'],
  { trusted }: AlertContext,
  known: OpenTrigger | undefined,
  told: 'open' | 'closed' | undefined,
): Trigger['phase'] | AlertOutcome {
  if (status === 'firing') {
    if (told !== undefined) return told === 'open' ? 'duplicates' : 'stale';
    if (known === undefined) return 'open';
    if (known.closedAt === undefined) return 'renew';
    // An end that somebody unknown told cannot keep a proven sender from being heard.
    return known.trusted || !trusted ? 'stale' : 'open';
  }
  if (told === 'closed') return 'duplicates';
  // An end of what we never heard begin is kept as well: its late beginning is then known as stale.
  if (told === 'open' || known === undefined) return 'close';
  if (known.closedAt !== undefined) return 'duplicates';
  return known.trusted && !trusted ? 'untrusted' : 'close';
}

/** Undefined: it names a GPU, and not in a way that can be read. An empty label is none, as in Prometheus. */
function targetOf({ pci_address: address, gpu }: Alert['labels']): Pick<Trigger, 'target' | 'gpu'> | undefined {
  if (address) {
    const pci = canonicalPci(address);
    return pci === undefined ? undefined : { target: { kind: 'gpu', pci } };
  }
  if (!gpu) return {};
  const number = gpuNumber(gpu);
  return number === undefined ? undefined : { gpu: number };
}
