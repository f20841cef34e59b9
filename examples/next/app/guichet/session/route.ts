import { call, customer, unavailable } from "../../service";

export async function POST() {
  try {
    return Response.json(await call("POST", "/sessions/create", { customer_email: customer.email }));
  } catch (error) {
    return unavailable(error);
  }
}
