// Everything that `guichet/testing` exports, used as a test of a shop would.
import { createGuichet, type GuichetError, type Kind } from "guichet";
import { type ErrorDetails, guichetError, openTestPage, type TestPage, type TestTab } from "guichet/testing";
import * as entry from "guichet/testing";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "guichetError" | "openTestPage">>();

const kind: Kind = "refused";
const details: ErrorDetails = {
  message: "Declined.", code: "payment_method_unavailable", status: 422, requestId: "req_1", operation: "calculate_fee", retryable: true,
  fields: [{ param: "amount", code: "parameter_invalid", message: "It is no amount." }], reply: null, cause: new Error(),
};
export const errors: GuichetError[] = [guichetError("offline"), guichetError(kind, details)];
// @ts-expect-error: there is no such kind
guichetError("declined");

export async function purchase(): Promise<string> {
  const page: TestPage = openTestPage(new URL("https://shop.example.com/basket"));
  const guichet = createGuichet({ baseUrl: "/pay", merchant: "/guichet" });
  const address: string = await page.navigation(guichet.checkout({ order: 1 }));
  const next: string = await page.navigation();
  page.back();
  const popups: TestPage = openTestPage("https://shop.example.com/basket", { popups: true });
  const popup: TestTab = await popups.popup(guichet.checkout({ order: 1 }, { mode: "popup" }));
  popup.show();
  popups.openTab("https://shop.example.com/").close();
  popups.freeze();
  popups.resume();
  const isClosed: boolean = popup.closed;
  page.close();
  // @ts-expect-error: the page alone sets it
  page.address = address;
  const addresses: readonly string[] = page.addresses;
  return addresses.join() + page.address + next + isClosed;
}
