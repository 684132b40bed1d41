import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";

it("what waits for a promise goes on in its own context, whichever context settles it", async () => {
	const first = env.ACCOUNT.getByName("waits");
	const second = env.ACCOUNT.getByName("settles");
	const started = Promise.withResolvers<() => void>();
	const read = runInDurableObject(first, async (_, { storage }) => {
		const settled = Promise.withResolvers<void>();
		started.resolve(settled.resolve);
		await settled.promise;
		return storage.get("absent");
	});
	const settle = await started.promise;
	await runInDurableObject(second, () => settle());
	expect(await read).toBeUndefined();
});
