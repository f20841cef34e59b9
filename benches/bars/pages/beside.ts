import { createGuichet } from "guichet/beside";

export const client = (baseUrl: string, merchant: string) => createGuichet({ baseUrl, merchant });
