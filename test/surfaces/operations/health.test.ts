import { describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import { AiError } from "../../../src/core/errors.ts";
import { testServices } from "../../gateway.ts";
import { startPassedTimer } from "../../timers.ts";

const appWith = (probe: () => Promise<void>, now = () => 0) => {
	const services = testServices();
	const directory = { ...services.directory, probe } as unknown as typeof services.directory;
	// Neither ADMIN_TOKEN nor ALLOW_ANONYMOUS is set: any other route is 401.
	return createApp({ ...services, directory, now }, { allowAnonymous: false });
};
const healthy = async () => {};

describe("/health and /ready", () => {
	it("answer without a token, and disclose no details", async () => {
		const app = appWith(healthy);
		expect((await app.request("/metrics")).status).toBe(401);
		for (const [path, status] of [
			["/health", "ok"],
			["/ready", "ready"],
		] as const) {
			const answer = await app.request(path);
			expect(answer.status).toBe(200);
			expect(answer.headers.get("cache-control")).toBe("no-store");
			expect(await answer.text()).toBe(`{"status":"${status}"}`);
		}
	});

	it("answers 503 while the objects are unreachable, and logs the reason", async () => {
		const app = appWith(() => Promise.reject(new AiError("ledgerUnavailable", "disk of /secret")));
		const answer = await app.request("/ready");
		expect(answer.status).toBe(503);
		expect(await answer.text()).toBe('{"status":"unavailable"}');
		expect((await app.request("/health")).status).toBe(200);
	});

	it("answers 503 if the objects do not answer in time, and keeps a probe whose caller has left", async () => {
		const kept: Promise<unknown>[] = [];
		const services = testServices();
		const directory = {
			...services.directory,
			probe: () => new Promise(() => {}),
		} as unknown as typeof services.directory;
		const app = createApp(
			{
				...services,
				directory,
				now: () => 0,
				startTimer: startPassedTimer,
				waitUntil: (work) => void kept.push(work),
			},
			{ allowAnonymous: false },
		);
		expect((await app.request("/ready")).status).toBe(503);
		expect(kept).toHaveLength(1);
	});

	it("calls the objects once a second for any number of probes", async () => {
		let [calls, at] = [0, 0];
		const app = appWith(
			async () => {
				calls++;
				return healthy();
			},
			() => at,
		);
		await Promise.all(Array.from({ length: 20 }, () => app.request("/ready")));
		expect(calls).toBe(1);
		at = 1_000;
		await app.request("/ready");
		expect(calls).toBe(2);
	});
});
