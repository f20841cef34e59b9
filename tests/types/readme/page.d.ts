// What the JavaScript of the documents uses without declaring it: the page around it, and the modules of other packages.

// The button of the page, by the name that each document gives it.
declare const button: HTMLButtonElement;
declare const payButton: HTMLButtonElement;
declare const payer: HTMLButtonElement;

// On the merchant's server.
declare const merchant_reference: string;
declare const return_nonce: string;
declare const secretKey: string;

declare function openShop(baseUrl: string, secretKey: string): {
  fetch(request: Request): Promise<Response>;
  books(reference: string): string;
  settle(): Promise<void>;
};

declare module "node:assert/strict" {
  const assert: { equal(actual: unknown, expected: unknown): void };
  export default assert;
}

declare module "node:crypto" {
  interface Hmac {
    update(data: string): Hmac;
    digest(encoding: "hex"): string;
  }
  export function createHmac(algorithm: string, key: string): Hmac;
  export function createHash(algorithm: string): Hmac;
  export function randomUUID(): string;
}

declare module "node:process" {
  export const env: Record<string, string | undefined>;
}

declare module "express" {
  interface Request {
    url: string;
    headers: { cookie?: string };
    body?: any;
  }
  interface Response {
    statusCode: number;
    cookie(name: string, value: string, options: object): this;
    clearCookie(name: string, options?: object): this;
    json(body: object): void;
    sendStatus(status: number): void;
  }
  type Handler = (request: Request, response: Response, next: (error?: unknown) => void) => void;
  interface Express {
    use(handler: Handler): void;
    post(path: string, ...handlers: Handler[]): void;
    listen(port: number, host: string): void;
  }
  const express: { (): Express; json(): Handler };
  export default express;
}

declare module "libsql" {
  const Database: new (file: string, options?: { timeout: number }) => { prepare(sql: string): unknown };
  export default Database;
}

declare module "vitest" {
  export function test(name: string, run: () => Promise<void>): void;
  export function expect(value: unknown): { toMatchObject(expected: object): void };
}

declare module "@playwright/test" {
  interface Locator {
    first(): Locator;
    check(): Promise<void>;
    click(): Promise<void>;
    fill(text: string): Promise<void>;
  }
  interface Page {
    goto(address: string): Promise<unknown>;
    getByLabel(text: string): Locator;
    getByRole(role: "button" | "link" | "radio", options: { name: string | RegExp; exact?: boolean }): Locator;
    getByText(text: string): Locator;
  }
  export function defineConfig(config: { use: object; webServer: readonly object[] }): object;
  export function test(name: string, run: (fixtures: { page: Page }) => Promise<void>): void;
  export function expect(value: Locator): { toBeVisible(): Promise<void> };
}

// Single-file components of Vue, and what Nuxt imports by itself.
declare module "*.vue" {
  const component: import("vue").Component;
  export default component;
}
declare const defineNuxtPlugin: (plugin: (nuxtApp: { vueApp: import("vue").App }) => object) => object;
declare const useNuxtApp: () => { $guichet: import("guichet").Guichet };
declare const useAsyncData: <T>(key: string, read: () => Promise<T>) => Promise<{ data: { value: T } }>;

declare module "svelte/store" {
  export interface Readable<T> {
    subscribe(run: (value: T) => void): () => void;
  }
  export function readable<T>(value: T, start: (set: (value: T) => void) => () => void): Readable<T>;
}

declare module "@angular/core" {
  interface WritableSignal<T> {
    (): T;
    set(value: T): void;
  }
  type Decorator = (target: any, context?: any) => void;
  export function signal<T>(value: T): WritableSignal<T>;
  export function inject<T>(token: abstract new (...values: any[]) => T): T;
  export abstract class DestroyRef {
    abstract onDestroy(run: () => void): () => void;
  }
  export function Injectable(): Decorator;
  export function Component(description: { selector: string; providers: object[]; template: string }): Decorator;
}

// Vite's addresses of files.
declare module "*?url" {
  const address: string;
  export default address;
}
