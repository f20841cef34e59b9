import { shop } from "../../shop";

export const GET = (request: Request) => shop().fetch(request);
export const POST = GET;
export const OPTIONS = GET;
