import { createHash } from 'node:crypto';

/** The name of the node in alerts, and of the one alert that is measured with. */
export const NODE = 'bench';
export const ALERT = 'BenchHot';

export interface AlertAbout {
  /** PCI address. */
  pci: string;
  /** Tells alerts about one card apart. */
  serial: number;
  status?: 'firing' | 'resolved';
}

/** A whole message of Alertmanager, version 4. One serial is one episode: the same alert, begun once. */
export function messageOf(alerts: readonly AlertAbout[]): string {
  const written = alerts.map(({ pci, serial, status = 'firing' }) => {
    const labels = {
      actuate: 'true',
      alertname: ALERT,
      node: NODE,
      pci_address: pci,
      serial: `${serial}`,
      severity: 'warning',
    };
    return {
      status,
      labels,
      annotations: { summary: 'The hottest spot of a GPU is over the threshold.' },
      startsAt: '2026-03-05T20:58:37.482Z',
      endsAt: status === 'firing' ? '0001-01-01T00:00:00Z' : '2026-03-05T21:13:52.482Z',
      generatorURL: 'http://prometheus.example.test:9090/graph?g0.expr=x&g0.tab=1',
      fingerprint: createHash('md5').update(`${pci} ${serial}`).digest('hex').slice(0, 16),
    };
  });
  return JSON.stringify({
    version: '4',
    groupKey: `{}:{alertname="${ALERT}"}`,
    truncatedAlerts: 0,
    status: written.some(({ status }) => status === 'firing') ? 'firing' : 'resolved',
    receiver: 'bench',
    groupLabels: { alertname: ALERT },
    commonLabels: { alertname: ALERT, node: NODE },
    commonAnnotations: {},
    externalURL: 'http://alertmanager.example.test:9093',
    alerts: written,
  });
}
