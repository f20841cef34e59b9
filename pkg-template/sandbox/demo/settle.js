import { logUnexpected } from "./shop_error.js";

/** How often a payment is read: until its status is final, and then for a day, in which an operator may approve an attempt late. */
const [OPEN_EVERY_MS, FINAL_EVERY_MS] = [3_000, 60_000];
/** The most payments per round, so that many abandoned ones do not flood the service; how many are read at a time. */
const [MAX_PER_ROUND, AT_A_TIME] = [40, 8];
/** The pause if the service does not respond. */
const PAUSE_MS = 60_000;

/**
 * Settles payments without any page: the service calls no webhook, and a customer who pays and closes the tab sends no further request.
 * Returns the function that ends it.
 */
export function keepSettling(payments) {
  let timer;
  const round = async () => {
    let pause = OPEN_EVERY_MS;
    const due = payments.due(OPEN_EVERY_MS, FINAL_EVERY_MS).slice(0, MAX_PER_ROUND).values();
    const readOn = async () => {
      for (const payment of due) {
        if (pause === PAUSE_MS) return;
        try {
          await payments.settle(payment);
        } catch (error) {
          logUnexpected(error);
          if (error.status === 429 || error.status === 503) pause = PAUSE_MS;
          else payment.readAt = Date.now() + PAUSE_MS;
          // The service does not know it: a sandbox that was started anew.
          if (error.status === 404) payment.isOver = true;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, readOn));
    if (timer) timer = setTimeout(round, pause);
  };
  timer = setTimeout(round, OPEN_EVERY_MS);
  return () => {
    clearTimeout(timer);
    timer = undefined;
  };
}
