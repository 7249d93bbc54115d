/** A JSON Schema as it is found in the registry: of any shape, written by somebody else. */
export type Schema = Record<string, unknown> | boolean;
export declare const isObject: (value: unknown) => value is Record<string, unknown>;
/** What is no schema lets everything through, as validators that are not strict do. */
export declare const asSchema: (value: unknown) => Schema;
/** A keyword of a schema: only its own members are, whatever a prototype holds. */
export declare const keyword: (schema: Schema, name: string) => unknown;
export declare const member: (value: unknown, name: string) => unknown;
/** Keywords that say something about a value without refusing any. */
export declare const annotations: Set<string>;
/** The part of a document that a `$ref` names; undefined for what lies outside it or is not there. */
export declare const resolve: (root: Schema, ref: unknown) => Schema | undefined;
/** A value in few words. */
export declare const shown: (value: unknown) => string;
