import { describe, expect, it } from 'vitest';
import { parseScrape, ScrapeError } from './support/scrape.ts';

const GAUGE = '# TYPE a gauge\n';

describe('a well-formed exposition', () => {
  it('gives families in order with type, help and samples as written', () => {
    const text = [
      '# HELP amdgpu_power_watts Power.',
      '# TYPE amdgpu_power_watts gauge',
      'amdgpu_power_watts{gpu="0",sensor="socket"} 41.5',
      'amdgpu_power_watts{gpu="1",sensor="socket"} 1.0e+02 1700000000000',
      '# TYPE up untyped',
      'up 18446744073709551615',
      '',
    ].join('\n');
    expect([...parseScrape(text)]).toEqual([
      [
        'amdgpu_power_watts',
        {
          type: 'gauge',
          help: 'Power.',
          samples: [
            { name: 'amdgpu_power_watts', labels: { gpu: '0', sensor: 'socket' }, value: '41.5' },
            {
              name: 'amdgpu_power_watts',
              labels: { gpu: '1', sensor: 'socket' },
              value: '1.0e+02',
              timestamp: '1700000000000',
            },
          ],
        },
      ],
      [
        'up',
        { type: 'untyped', help: undefined, samples: [{ name: 'up', labels: {}, value: '18446744073709551615' }] },
      ],
    ]);
  });

  it('keeps an empty text, a family without samples and an empty HELP apart from none', () => {
    expect(parseScrape('').size).toBe(0);
    expect(parseScrape(`${GAUGE}# HELP a\n`).get('a')).toEqual({ type: 'gauge', help: '', samples: [] });
    expect(parseScrape(GAUGE).get('a')).toEqual({ type: 'gauge', help: undefined, samples: [] });
  });

  it('resolves the escapes of labels and of HELP', () => {
    const family = parseScrape(`# HELP a one\\\\two\\nthree "four"\n${GAUGE}a{x="\\\\ \\" \\n {},="} 1\n`).get('a');
    expect(family?.help).toBe('one\\two\nthree "four"');
    expect(family?.samples[0]?.labels).toEqual({ x: '\\ " \n {},=' });
  });

  it('takes blank lines, other comments, tabs, a comma after the last label and empty braces', () => {
    const text = `\n# just words\n#EOF\n# HELPER\n\t#\tTYPE\ta\tgauge \n a { x = "1" , }\t2\t-3 \na{} 4\n`;
    expect(parseScrape(text).get('a')?.samples).toEqual([
      { name: 'a', labels: { x: '1' }, value: '2', timestamp: '-3' },
      { name: 'a', labels: {}, value: '4' },
    ]);
  });

  it.each(['0', '-0.5', '+1', '.5', '5.', '1e9', '1E-9', 'NaN', '+Inf', '-Inf', 'Inf'])(
    'takes the value %s',
    (value) => {
      expect(parseScrape(`${GAUGE}a ${value}\n`).get('a')?.samples[0]?.value).toBe(value);
    },
  );

  it('reads histograms and summaries as one family each', () => {
    const histogram = '# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n';
    const summary = '# TYPE s summary\ns{quantile="0.5"} 1\ns_sum 3\ns_count 2\n';
    const families = parseScrape(histogram + summary);
    expect(families.get('h')?.samples.map(({ name }) => name)).toEqual(['h_bucket', 'h_bucket', 'h_sum', 'h_count']);
    expect(families.get('s')?.samples.map(({ name }) => name)).toEqual(['s', 's_sum', 's_count']);
  });

  it('takes a label that is called like a property of every object', () => {
    const labels = parseScrape(`${GAUGE}a{__proto__="x",constructor="y"} 1\n`).get('a')?.samples[0]?.labels ?? {};
    expect(Object.entries(labels)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });
});

describe('a malformed exposition is refused', () => {
  it.each([
    ['no line feed at the end', `${GAUGE}a 1`, 2, /does not end/],
    ['a sample without TYPE', 'a 1\n', 1, /no TYPE/],
    ['a sample of another family', `${GAUGE}b 1\n`, 2, /no TYPE/],
    ['a HELP without TYPE', '# HELP b Words.\n# TYPE a gauge\n', 1, /HELP and no TYPE/],
    ['a HELP without TYPE before its sample', '# HELP b Words.\nb 1\n', 2, /no TYPE/],
    ['TYPE after the sample', `${GAUGE}a 1\n# TYPE a gauge\n`, 3, /after its first sample/],
    ['two TYPEs', `${GAUGE}${GAUGE}`, 2, /second TYPE/],
    ['two HELPs', '# HELP a b\n# HELP a c\n', 2, /second HELP/],
    ['an unknown type', '# TYPE a Gauge\n', 1, /unknown type/],
    ['no type', '# TYPE a\n', 1, /no blank after the name/],
    ['no name', '# TYPE\n', 1, /no blank after TYPE/],
    ['a family in two places', `${GAUGE}a 1\n# TYPE b gauge\n${GAUGE}`, 4, /two places/],
    ['a series told twice', `${GAUGE}a{x="1",y="2"} 1\na{y="2",x="1"} 1\n`, 3, /was there before/],
    ['a series told twice at two times', `${GAUGE}a 1 1\na 1 2\n`, 3, /was there before/],
    ['a label twice', `${GAUGE}a{x="1",x="2"} 1\n`, 2, /stands twice/],
    ['a bad escape in a label', `${GAUGE}a{x="\\t"} 1\n`, 2, /bad escape \\t/],
    ['a bad escape in HELP', '# HELP a \\"\n', 1, /bad escape \\"/],
    ['a lone backslash at the end of HELP', '# HELP a \\\n', 1, /bad escape/],
    ['a label value without end', `${GAUGE}a{x="1} 1\n`, 2, /does not end/],
    ['a label value over two lines', `${GAUGE}a{x="1\n2"} 1\n`, 2, /does not end/],
    ['a label value without quotes', `${GAUGE}a{x=1} 1\n`, 2, /not quoted/],
    ['a label without value', `${GAUGE}a{x} 1\n`, 2, /no = after/],
    ['a bad label name', `${GAUGE}a{1x="1"} 1\n`, 2, /a label name or } expected/],
    ['a colon in a label name', `${GAUGE}a{x:y="1"} 1\n`, 2, /no = after/],
    ['two commas', `${GAUGE}a{x="1",,y="2"} 1\n`, 2, /a label name or } expected/],
    ['no comma', `${GAUGE}a{x="1" y="2"} 1\n`, 2, /neither , nor }/],
    ['a bad metric name', `${GAUGE}0a 1\n`, 2, /a metric name expected/],
    ['no value', `${GAUGE}a\n`, 2, /a number/],
    ['a value that is none', `${GAUGE}a undefined\n`, 2, /a number/],
    ['JavaScript’s infinity', `${GAUGE}a Infinity\n`, 2, /no blank after the value/],
    ['a bigint’s n', `${GAUGE}a 1n\n`, 2, /no blank after the value/],
    ['an underscore in a number', `${GAUGE}a 1_000\n`, 2, /no blank after the value/],
    ['carriage returns', '# TYPE a gauge\na 1\r\n', 2, /no blank after the value/],
    ['a timestamp that is none', `${GAUGE}a 1 1.5\n`, 2, /after the timestamp/],
    ['words after the value', `${GAUGE}a 1 x\n`, 2, /a timestamp/],
    ['a suffix that a gauge has not', `${GAUGE}a_sum 1\n`, 2, /no TYPE before it/],
    ['a histogram’s bare name', '# TYPE h histogram\nh 1\n', 2, /no TYPE before it/],
    ['a bucket without le', '# TYPE h histogram\nh_bucket 1\n', 2, /no label le/],
    ['a quantile without quantile', '# TYPE s summary\ns 1\n', 2, /no label quantile/],
  ])('%s', (_what, text, line, problem) => {
    const refusal = refusalOf(text);
    expect(refusal.message).toMatch(problem);
    expect(refusal.line).toBe(line);
  });
});

function refusalOf(text: string): ScrapeError {
  try {
    parseScrape(text);
  } catch (error) {
    if (error instanceof ScrapeError) return error;
    throw error;
  }
  throw new Error(`taken: ${JSON.stringify(text)}`);
}
