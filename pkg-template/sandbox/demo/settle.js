import { logUnexpected } from "./shop_error.js";

/** How often a payment is read: until its status is final, and then for a day, in which an operator may approve an attempt late. */
const [OPEN_EVERY_MS, FINAL_EVERY_MS] = [3_000, 60_000];
/** The most payments per round, so that many abandoned ones do not flood the service; the pause if it does not respond. */
const [MAX_PER_ROUND, PAUSE_MS] = [20, 60_000];

/**
 * Settles payments without any page: the service calls no webhook, and a customer who pays and closes the tab sends no further request.
 * Returns the function that ends it.
 */
export function keepSettling(payments) {
  let timer;
  const round = async () => {
    let pause = OPEN_EVERY_MS;
    // The one that was read longest ago is first.
    const due = payments.due(OPEN_EVERY_MS, FINAL_EVERY_MS).sort((one, other) => one.readAt - other.readAt);
    for (const payment of due.slice(0, MAX_PER_ROUND)) {
      try {
        await payments.settle(payment);
      } catch (error) {
        logUnexpected(error);
        if (error.status === 429 || error.status === 503) {
          pause = PAUSE_MS;
          break;
        }
        payment.readAt = Date.now() + PAUSE_MS;
        // The service does not know it: a sandbox that was started anew.
        if (error.status === 404) payment.isOver = true;
      }
    }
    if (timer) timer = setTimeout(round, pause);
  };
  timer = setTimeout(round, OPEN_EVERY_MS);
  return () => {
    clearTimeout(timer);
    timer = undefined;
  };
}
