import { render, screen } from "@testing-library/react";
import { Pay } from "./pay.jsx";

test("a component that imports the package is shown", () => {
  expect(typeof TextDecoder).toBe("undefined");
  render(<Pay />);
  expect(screen.getByText("none")).toBeTruthy();
  expect(screen.getByRole("button").textContent).toMatch(/connection/i);
});
