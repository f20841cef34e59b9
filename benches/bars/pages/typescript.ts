import { PaymentClient } from "./client";

export const client = (baseUrl: string, merchant: string) => new PaymentClient({ baseUrl, merchant });
