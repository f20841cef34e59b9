import { createGuichet } from "guichet";

export const client = (baseUrl: string, merchant: string) => createGuichet({ baseUrl, merchant });
