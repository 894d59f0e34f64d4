import { Link } from "@tanstack/react-router";
import { Empty } from "../ui/notice.js";

export function NotFound() {
  return (
    <Empty>
      <h1>There is no such page</h1>
      <Link to="/">Go to the overview</Link>
    </Empty>
  );
}
