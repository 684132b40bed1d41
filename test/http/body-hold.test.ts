import { describe, expect, it } from "vitest";
import { BufferHold, bufferedBytes } from "../../src/core/process-counts.ts";
import { closedGateway } from "./access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";

describe("the bytes of large bodies", () => {
	it("are released with the answer, and refused with 429 when others hold what the process may", async () => {
		const { app, account, createToken } = closedGateway();
		const token = await createToken(["Workers AI Run"]);
		const send = (prompt: string) => {
			const body = JSON.stringify({ prompt });
			return app.request(`/client/v4/accounts/${account}/ai/run/${LLAMA}`, {
				method: "POST",
				headers: {
					authorization: `Bearer ${token}`,
					"content-type": "application/json",
					"content-length": String(body.length),
				},
				body,
			});
		};
		// Answers that other tests did not read stay buffered.
		const { used } = bufferedBytes.report();
		await (await send("a".repeat(20_000))).text();
		expect(bufferedBytes.report().used).toBe(used);
		const others = new BufferHold("others");
		others.grow(bufferedBytes.report().limit - 10_000);
		const refused = await send("a".repeat(20_000));
		expect(refused.status).toBe(429);
		expect(refused.headers.get("retry-after")).toBe("2");
		expect(await refused.json()).toMatchObject({ errors: [{ code: 3040 }] });
		others.release();
		const served = await send("a".repeat(20_000));
		expect(served.status).not.toBe(429);
		await served.body?.cancel();
		expect(bufferedBytes.report().used).toBe(used);
	});
});
