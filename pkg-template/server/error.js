/** A refusal of a page's request, or the failure of a round. Without `cause`, which may hold a stranger's text, it can be logged. */
export class ShopError extends Error {
  constructor(status, code, message, { cause, kind, requestId, retryable = status === 429 || status === 503, fields = [] } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    Object.defineProperty(this, "name", { value: "ShopError", configurable: true });
    Object.assign(this, { status, code, kind, requestId, retryable, fields });
  }

  toJSON() {
    return { name: this.name, message: this.message, ...this };
  }
}
