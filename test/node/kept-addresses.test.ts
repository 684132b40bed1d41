/** The memory of paths that are kept after their requests. */
import { expect, it } from "vitest";
import { collectGarbage } from "../../scripts/collect-garbage.ts";
import { emptyApp } from "../../src/http/empty-app.ts";
import { nearAddresses } from "../../src/http/near-address.ts";

const MEGABYTE = 1_000_000;
const REQUESTS = 500;

it("a path and a name in it keep their own characters in memory, not the query of the address", async () => {
	const heapBytes = (): number => {
		collectGarbage();
		return process.memoryUsage().heapUsed;
	};
	const names: string[] = [];
	const near = nearAddresses(["/v1/chat/completions"]);
	const app = emptyApp();
	app.get("/v1/models/:model{.+}", (c) => {
		names.push(c.req.param("model"));
		return c.text(near(c.req.path) ?? "no route");
	});
	const before = heapBytes();
	for (let n = 0; n < REQUESTS; n++) {
		const response = await app.request(
			`http://gateway/v1/models/a-name-of-some-length-${n}/?text=${"a".repeat(100_000)}`,
		);
		expect(await response.text()).toBe("no route");
	}
	expect(heapBytes() - before).toBeLessThan(10 * MEGABYTE);
	expect(names).toHaveLength(REQUESTS);
	expect(names[7]).toBe("a-name-of-some-length-7");
	expect(near("/v1/chat/completion")).toBe("/v1/chat/completions");
});
