import type { OpenTrigger } from '../../../model/trigger.ts';

/** As Alertmanager 0.25 sent it: one group with a resolved and a firing alert, nanoseconds and an offset. */
export const CAPTURED =
  '{"receiver":"x","status":"firing","alerts":[{"status":"resolved","labels":{"alertname":"B","z":"1"},"annotations":{},"startsAt":"2026-03-05T22:14:07Z","endsAt":"2026-03-05T22:15:07Z","generatorURL":"","fingerprint":"2850657b0e51c95b"},{"status":"firing","labels":{"alertname":"B","gpu":"6","node":"mi300x-07","zone":"Z\u00fcrich"},"annotations":{},"startsAt":"2026-03-05T22:14:07.482123456+01:00","endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"a71e626faa99d256"}],"groupLabels":{"alertname":"B"},"commonLabels":{"alertname":"B"},"commonAnnotations":{},"externalURL":"http://vm:19093","version":"4","groupKey":"{}:{alertname=\\"B\\"}","truncatedAlerts":0}\n';

export const NODE = 'mi300x-07';

export interface RawAlert {
  status: string;
  labels: Record<string, string>;
  [field: string]: unknown;
}

export function rawAlert(change: Partial<RawAlert> = {}): RawAlert {
  return {
    status: 'firing',
    labels: { alertname: 'AmdGpuJunctionHot', node: NODE, pci_address: '0000:26:00.0', gpu: '1' },
    annotations: { summary: 'hot' },
    startsAt: '2026-03-05T20:58:37.482Z',
    endsAt: '0001-01-01T00:00:00Z',
    generatorURL: 'http://prom-0.example.test:9090/graph',
    fingerprint: 'e90d44c2710fa35b',
    ...change,
  };
}

export function rawMessage(
  alerts: unknown = [rawAlert()],
  change: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    version: '4',
    groupKey: '{}:{}',
    truncatedAlerts: 0,
    status: 'firing',
    receiver: 'nightshift',
    groupLabels: {},
    commonLabels: {},
    commonAnnotations: {},
    routeLabels: null,
    externalURL: 'http://am-0.example.test:9093',
    notification_reason: 'first notification',
    alerts,
    ...change,
  };
}

export const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

export function row(change: Partial<OpenTrigger> = {}): OpenTrigger {
  return {
    source: 'alert',
    name: 'AmdGpuJunctionHot',
    key: 'e90d44c2710fa35b@2026-03-05T20:58:37.482Z',
    phase: 'open',
    since: 1,
    at: 1,
    seenAt: 1,
    values: {},
    trusted: true,
    ...change,
  };
}
