// Everything that `guichet-sandbox` exports, used as a shop's tests would.
import { createSandbox } from "guichet-sandbox";
import type {
  Clock, Fault, Faults, Handset, Operation, Operator, Operators, ReceivedRequest, Sandbox, SandboxEvent, SandboxOptions, Tenant, TenantOptions, TimeSpan, WaitingFault,
} from "guichet-sandbox";
import * as entry from "guichet-sandbox";
import { createGuichet } from "guichet";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "createSandbox">>();
holds<Equal<ReturnType<typeof createSandbox>, Promise<Sandbox>>>();

const options: SandboxOptions = {
  baseUrl: new URL("https://api.example.com"),
  publicUrl: "https://pay.example.com",
  checkout: "./checkout",
  merchantName: "Awa's shoes",
  allowOrigins: ["https://shop.example.com"],
  allowHosts: ["sandbox.test"],
  publicMethods: true,
  strict: true,
  profile: { base_url: "https://api.example.com", read: { method: "GET", path: "/charges/{id}" } },
};
// @ts-expect-error: a mistyped option
createSandbox({ publicMethod: true });

export async function aTest(): Promise<(number | string | null | undefined)[]> {
  await using sandbox = await createSandbox(options);
  holds<Equal<typeof sandbox.fetch, typeof fetch>>();
  const { fetch: bound, baseUrl, secretKey, controlToken } = sandbox;
  createGuichet({ baseUrl, fetch: bound });
  // @ts-expect-error: the address is the sandbox's own
  sandbox.baseUrl = "https://elsewhere.example.com";
  const named: TenantOptions = { name: "Ngono" };
  const shop: Tenant = await sandbox.merchant(named);
  const clock: Clock = shop.clock;
  // No method needs `this`.
  const { merchant, reset, close }: Sandbox = sandbox;
  const spans: TimeSpan[] = [90, "90", "15m", "31d"];
  // @ts-expect-error: no such unit
  spans.push("1w");
  const now: Date = await clock.advance("31d");
  const faults: Faults = shop.faults;
  const fault: Fault = { operation: "create_payment_intent", kind: "status", status: 503, retry_after: 1, count: 2 };
  const waiting: WaitingFault[] = await faults.set(fault);
  // @ts-expect-error: a delay has a length
  await faults.set({ operation: "create_payment_intent", kind: "delay" });
  // @ts-expect-error: no such operation
  await faults.set({ operation: "create_intent", kind: "drop" });
  const lengths = (await faults.list()).map((one) => (one.kind === "delay" ? one.milliseconds : one.count));
  await faults.clear();
  const handset: Handset = shop.handset;
  await handset.approve("ORDER-17");
  const operators: Operators = shop.operators;
  const [mtn]: Operator[] = await operators.set({ code: "mtn_cm", status: "delayed" });
  // @ts-expect-error: no such status
  await operators.set({ code: "mtn_cm", status: "slow" });
  const [request]: ReceivedRequest[] = await shop.requests();
  const [event]: SandboxEvent[] = await shop.events();
  const operation: Operation | undefined = request?.operation;
  await shop.reset();
  await merchant();
  await reset();
  await close();
  return [...lengths, shop.id, shop.secretKey, secretKey, controlToken, now.getTime(), (await clock.now()).getTime(), waiting.length, operation, mtn?.name, request?.status, event?.data.merchant_reference];
}
