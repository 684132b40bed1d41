import { expect, it } from "vitest";
import { unreleasedRequests } from "../../tools/soak/hostile/held-requests.ts";

const held = (requests: number): string =>
	`ganglion_held{class="objects"} 5\nganglion_held{class="requests"} ${requests}\n`;
const work = (state: string, items: number): string =>
	`ganglion_work_items{account="hostile-1",kind="responses",state="${state}"} ${items}\n`;

it("finds requests that are held although neither a caller nor durable work has them", () => {
	expect(unreleasedRequests(held(0))).toBe(0);
	expect(unreleasedRequests(held(3))).toBe(3);
	expect(unreleasedRequests(held(3) + work("queued", 2) + work("running", 0))).toBe(3);
	expect(unreleasedRequests(held(3) + work("running", 12))).toBe(0);
	expect(unreleasedRequests(held(9) + work("running", 2) + work("running", 3))).toBe(4);
	expect(unreleasedRequests("")).toBeNaN();
});
