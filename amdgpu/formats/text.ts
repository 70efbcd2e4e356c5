/**
 * What the kernel prints is ASCII with `\n`; what arrives here may be longer: a file copied with a page-sized buffer is
 * followed by NUL bytes, and an attribute without content is an empty string or a lone newline.
 */

/** The text up to the first NUL, without white space at either end; inner lines are kept. */
export function clean(text: string): string {
  const nul = text.indexOf('\0');
  return (nul < 0 ? text : text.slice(0, nul)).trim();
}

/** What stands before the first newline or NUL, trimmed; empty when the file begins with an empty line. */
export function firstLine(text: string): string {
  let end = 0;
  while (end < text.length) {
    const code = text.charCodeAt(end);
    if (code === 10 || code === 0) break;
    end++;
  }
  return text.slice(0, end).trim();
}

/** Non-empty lines up to the first NUL, each trimmed. */
export function lines(text: string): string[] {
  return nonEmpty(clean(text));
}

/**
 * Non-empty lines with NUL runs taken as line ends. For the two files whose *driver* leaves NUL gaps between valid lines
 * (`pp_od_clk_voltage`, `gpu_vram_bad_pages`): stopping at the first gap would lose what follows.
 */
export function linesAcrossGaps(text: string): string[] {
  return nonEmpty(text.indexOf('\0') < 0 ? text : text.replaceAll('\0', '\n'));
}

function nonEmpty(text: string): string[] {
  const found: string[] = [];
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    if (trimmed !== '') found.push(trimmed);
  }
  return found;
}

/** Parts of a line between spaces and tabs. */
export function words(line: string): string[] {
  const found: string[] = [];
  let start = -1;
  for (let i = 0; i <= line.length; i++) {
    const code = i < line.length ? line.charCodeAt(i) : 32;
    const space = code === 32 || code === 9 || code === 13 || code === 10;
    if (space && start >= 0) {
      found.push(line.slice(start, i));
      start = -1;
    } else if (!space && start < 0) start = i;
  }
  return found;
}
