// What the JavaScript of the documents uses without declaring it: the page around it, and the modules of other packages.

// The button of the page, by the name that each document gives it.
declare const button: HTMLButtonElement;
declare const payButton: HTMLButtonElement;
declare const payer: HTMLButtonElement;

// On the merchant's server.
declare const merchant_reference: string;
declare const return_nonce: string;
declare const secretKey: string;

declare module "node:crypto" {
  interface Hmac {
    update(data: string): Hmac;
    digest(encoding: "hex"): string;
  }
  export function createHmac(algorithm: string, key: string): Hmac;
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
    getByRole(role: "button" | "radio", options: { name: string | RegExp; exact?: boolean }): Locator;
    getByText(text: string): Locator;
  }
  export function defineConfig(config: { use: object; webServer: readonly object[] }): object;
  export function test(name: string, run: (fixtures: { page: Page }) => Promise<void>): void;
  export function expect(value: Locator): { toBeVisible(): Promise<void> };
}

// Vite's addresses of files.
declare module "*?url" {
  const address: string;
  export default address;
}
