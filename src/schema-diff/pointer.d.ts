/** JSON Pointers (RFC 6901), the one place where they are written and read. */
export declare const escapePointer: (name: string) => string;
export declare const toPointer: (path: readonly (string | number)[]) => string;
export declare const parsePointer: (pointer: string) => string[];
/** As it stands in the fragment of an address; a lone % stands for itself. */
export declare const decodeFragment: (fragment: string) => string;
/** A member of its own of an object, or an item of a list: what a prototype has is no part of a document. */
export declare const partAt: (value: unknown, step: string) => unknown;
/** The part of a document that a `$ref` names by a pointer; undefined for what lies outside it or is not there. */
export declare const partNamed: (root: unknown, ref: unknown) => unknown;
