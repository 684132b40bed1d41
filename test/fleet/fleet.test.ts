import { env } from "cloudflare:workers";
import { expect, it } from "vitest";

it("combines the reports of isolates in one object", async () => {
	const fleet = env.FLEET.getByName(`test ${crypto.randomUUID()}`);
	const circuit = { openedAt: 10, cooldownUntil: 20, workedAt: 0 };
	await fleet.exchange([{ key: "a", failures: 5, failedAt: 10, circuit }]);
	expect(await fleet.exchange([])).toEqual({ a: circuit });
}, 30_000);
