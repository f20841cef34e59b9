/** Holds where the two types are one: `any` and `unknown` equal nothing but themselves. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Does not compile unless its argument is `true`. */
export function holds<_T extends true>(): void {}
