// Everything that `guichet-sandbox/check` exports, used as a shop's tests would.
import { check, startService } from "guichet-sandbox/check";
import type { CheckCommand, CheckedShop, CheckOptions, CheckReport, CheckService, PaymentOfOrder, RuleReport } from "guichet-sandbox/check";

export async function check_a_shop(shop: CheckedShop) {
  const service: CheckService = await startService({ listen: "127.0.0.1:0", profile: { base_url: "https://api.example.com" } });
  const { baseUrl, secretKey }: { baseUrl: string; secretKey: string } = service;
  const restart: CheckCommand = async () => console.log(baseUrl, secretKey.length);
  const books = ({ order, reference, paymentRef }: PaymentOfOrder) => [JSON.stringify(order), reference, paymentRef];
  const options: CheckOptions = { service, orderPattern: { id: "N-%d" }, books, restart, settle: "npm run settle", limit: 20, only: ["orders"] };
  const report: CheckReport = await check(shop, options);
  const failed: RuleReport[] = report.rules.filter(({ verdict }) => verdict === "fail");
  // @ts-expect-error: a verdict is one of three
  report.rules.filter(({ verdict }) => verdict === "failed");
  // @ts-expect-error: an option that there is not
  await check("http://127.0.0.1:8000", { order: [] });
  await check(new URL("http://127.0.0.1:8000"), { orders: ["17"], logins: ["GET /login"], logs: ["shop.log"], address: "http://localhost" });
  service.close();
  return failed.map(({ id, why, sent, came, fix, guide, needs, seconds, waited_seconds }) => [id, why, sent, came, fix, guide, needs, seconds, waited_seconds]);
}
