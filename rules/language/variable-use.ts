/** Variables and windows as conditions name them. */
import { closest } from '../../base/closest.ts';
import type { Expression, VariableUse } from './expression.ts';
import { fail, inside, type Place, parseConstant, type Reader } from './reader.ts';
import { typeName } from './types.ts';
import type { Variable } from './variable.ts';

/** `var: path` or `var: [path, default]`. A path is one text; a threshold is put in as the constant that it is. */
export function parseVariable(reader: Reader, raw: unknown, place: Place, pointer: string): Expression | undefined {
  const list: unknown[] = Array.isArray(raw) ? raw : [raw];
  const [path, fallback] = list;
  if (typeof path !== 'string' || path === '') {
    const message =
      typeof path === 'object' && path !== null
        ? 'the name of a variable cannot be computed'
        : 'var takes the name of a variable';
    return fail(reader, place, 'CONDITION_VARIABLE_COMPUTED', message, 'Write it as one text: { var: gpu.power }.');
  }
  if (list.length > 2) {
    const parts = list.every((part) => typeof part === 'string' || typeof part === 'number');
    const hint = `Write the name as one text${parts ? `: ${list.join('.')}` : ''}.`;
    return fail(
      reader,
      place,
      'CONDITION_ARITY',
      `var takes a name and at most a default, not ${list.length} parts`,
      hint,
    );
  }
  const found = reader.vocabulary.find(path);
  if ('refused' in found) return fail(reader, place, 'CONDITION_VARIABLE_REFUSED', found.refused, found.hint);
  if ('unknown' in found) {
    return fail(reader, place, 'CONDITION_VARIABLE_UNKNOWN', `there is no variable ${found.unknown}`, found.hint);
  }
  const { variable } = found;
  if (list.length === 2) return withDefault(reader, variable, fallback, inside(place, 1), pointer);
  const { constant, type, unit } = variable;
  if (constant === undefined) return use(variable, pointer);
  return { kind: 'constant', type, value: constant, text: path, pointer, ...(unit === undefined ? {} : { unit }) };
}

/** A default would make a sensor that fell silent look like one that reads; only a sender may leave something out. */
function withDefault(
  reader: Reader,
  variable: Variable,
  fallback: unknown,
  place: Place,
  pointer: string,
): VariableUse | undefined {
  const { path, type, optional } = variable;
  if (!optional) {
    const hint =
      'Remove the default; { known: … } tells whether there is a value. (Names are one text, not a list of parts.)';
    return fail(reader, place, 'CONDITION_DEFAULT_REFUSED', `${path} takes no default: missing stays unknown`, hint);
  }
  const constant = parseConstant(reader, fallback, place);
  if (constant === undefined) return undefined;
  if (constant.type === type) return { ...use(variable, pointer), default: constant.value };
  return fail(
    reader,
    place,
    'CONDITION_TYPE',
    `the default of ${path} must be ${typeName({ type })}, not ${typeName(constant)}`,
  );
}

export function parseWindow(reader: Reader, name: unknown, at: Place, place: Place): Expression | undefined {
  const { windows } = reader.vocabulary;
  const found = typeof name === 'string' ? reader.vocabulary.find(`window.${name}`) : undefined;
  if (found === undefined || !('variable' in found)) {
    const meant = typeof name === 'string' ? closest(name, windows) : undefined;
    const hint = meant !== undefined ? `Did you mean ${meant}?` : `Windows are: ${windows.join(', ') || 'none'}.`;
    const message =
      typeof name === 'string' ? `there is no window ${JSON.stringify(name)}` : 'in_window takes the name of a window';
    return fail(reader, at, 'CONDITION_WINDOW_UNKNOWN', message, hint);
  }
  const of = use(found.variable, at.pointer);
  return { kind: 'probe', operator: 'in_window', of, type: 'boolean', pointer: place.pointer };
}

const use = ({ path, type, unit, values }: Variable, pointer: string): VariableUse => ({
  kind: 'variable',
  path,
  type,
  pointer,
  ...(unit === undefined ? {} : { unit }),
  ...(values === undefined ? {} : { values }),
});
