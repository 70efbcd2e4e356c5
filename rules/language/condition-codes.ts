/** Everything that can be wrong with a condition, by stable code. */
export const CONDITION_CODES = [
  {
    code: 'CONDITION_NOT_A_RULE',
    meaning: 'A block has none or several keys, or a list, nothing or a literal block stands where a rule must.',
  },
  { code: 'CONDITION_OPERATOR_UNKNOWN', meaning: 'There is no such operator.' },
  {
    code: 'CONDITION_OPERATOR_REFUSED',
    meaning: 'An operator of JSON Logic that is not taken here; the hint says what to use.',
  },
  { code: 'CONDITION_ARITY', meaning: 'An operator has too few or too many operands.' },
  { code: 'CONDITION_TYPE', meaning: 'An operand, or the condition as a whole, is of the wrong type.' },
  {
    code: 'CONDITION_UNIT',
    meaning: 'A value has no unit, an unknown one, or one that does not fit what it is compared with.',
  },
  { code: 'CONDITION_VALUE', meaning: 'A text is compared with a value that it can never have.' },
  { code: 'CONDITION_VARIABLE_UNKNOWN', meaning: 'There is no such variable.' },
  {
    code: 'CONDITION_VARIABLE_REFUSED',
    meaning: 'A variable that is not in this version, has two units, or needs a zone.',
  },
  { code: 'CONDITION_VARIABLE_COMPUTED', meaning: 'The name of a variable is computed, or is no text.' },
  { code: 'CONDITION_DEFAULT_REFUSED', meaning: 'A default for a variable whose absence must stay unknown.' },
  { code: 'CONDITION_WINDOW_UNKNOWN', meaning: 'There is no window of that name.' },
  { code: 'CONDITION_NAMED_UNKNOWN', meaning: 'There is no named condition of that name.' },
  { code: 'CONDITION_NAMED_INVALID', meaning: 'The named condition is itself wrong.' },
  { code: 'CONDITION_CYCLE', meaning: 'Named conditions lead back to themselves.' },
  { code: 'CONDITION_TOO_LARGE', meaning: 'A condition is too deep, has too many parts, or too long a list.' },
] as const;

export type ConditionCode = (typeof CONDITION_CODES)[number]['code'];
