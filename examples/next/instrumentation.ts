// Opens the shop when the server starts, so that it settles before any page is requested.
export async function register() {
  if (process.env.NEXT_RUNTIME === "nodejs") (await import("./app/shop")).shop();
}
