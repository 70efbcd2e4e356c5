/** Video and JPEG engines. */
import { group } from './quantity.ts';

export const media = group('media', {
  busy: {
    key: 'media_engine_busy',
    labels: ['engine', 'index'],
    unit: 'ratio',
    kind: 'gauge',
    rows: ['E2', 'E3', 'E4', 'E5', 'N6'],
    cadence: 'scrape',
    sources: ['gpu_metrics vcn_activity, jpeg_activity, vcn_busy, jpeg_busy', 'xcp/xcp_metrics'],
    help: 'Busy share of one video (vcn) or JPEG engine; tables up to 1.5 count per socket and carry no partition.',
    plausible: [0, 1],
    partitioned: true,
  },
});
