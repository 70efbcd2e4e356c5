/** Everything that crosses a process carries this number; readers refuse a higher one. Apart from the schemas, whose library is slow to load. */
export const WIRE_VERSION = 1;
