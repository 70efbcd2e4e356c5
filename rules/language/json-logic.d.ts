/** The parts of json-logic-js that are used; the package ships no types. */
declare module 'json-logic-js' {
  const jsonLogic: {
    /** Evaluates a rule against data. */
    apply(rule: unknown, data?: unknown): unknown;
  };
  export default jsonLogic;
}
