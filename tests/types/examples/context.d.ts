// What the examples of the declarations use without declaring it, besides what ../readme/page.d.ts declares.

// A client, the hosted page's checkout, a page of a test, and a sandbox with a merchant.
declare const guichet: import("guichet").Guichet;
declare const hosted: import("guichet/hosted").HostedCheckout;
declare const page: import("guichet/testing").TestPage;
declare const sandbox: import("guichet-sandbox").Sandbox;
declare const shop: import("guichet-sandbox").Tenant;

// React.
declare const createRoot: typeof import("react-dom/client").createRoot;
declare const root: HTMLElement;
declare function Shop(): import("react").ReactElement;

// Vue.
declare const createApp: typeof import("vue").createApp;
declare const App: import("vue").Component;

// Vitest, or Jest.
declare function beforeEach(run: () => unknown): void;
declare function afterEach(run: () => unknown): void;
declare function afterAll(run: () => unknown): void;

// The merchant's server, in Node.js.
declare const createHmac: typeof import("node:crypto").createHmac;
declare const createIntent: (order: { merchant_reference: string; redirect_url: string }) => Promise<import("guichet").PaymentIntent>;

// A shop of guichet-server, the store of its ledger, and the time in seconds.
declare const server: import("guichet-server").ShopServer;
declare const store: import("guichet-server/orders").LedgerStore;
declare const now: number;
