import { describe, expect, it } from "vitest";
import { ADMIN, closedGateway, failureOf, json } from "../../http/access.ts";

const V4 = "http://gateway/client/v4";

interface Page<Row> {
	result: Row[];
	result_info: { cursor?: string };
}

describe("all accounts, for the operator", () => {
	it("are listed, and each has its usage in one report, as JSON and as CSV", async () => {
		const { app, send, createToken, account } = closedGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
		const token = await createToken(["Workers AI Read"]);
		const run = json("POST", { prompt: "hi" });
		const answer = await send("/ai/run/@cf/meta/llama-3.1-8b-instruct-fast", token, run);
		expect(answer.status).toBe(200);
		await answer.text();
		// The settlement goes with the next call of the account.
		await (await send("/ai/run/@cf/meta/llama-3.1-8b-instruct-fast", token, run)).text();
		const get = (path: string, bearer: string) =>
			app.request(`${V4}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
		const getPage = async <Row>(path: string, cursor: string | undefined): Promise<Page<Row>> => {
			const query = cursor === undefined ? "" : `?cursor=${encodeURIComponent(cursor)}`;
			const page = await get(path + query, ADMIN);
			expect(page.status, await page.clone().text()).toBe(200);
			return page.json<Page<Row>>();
		};
		/** The row of the account, and the cursor of its page. The other tests' accounts fill several pages. */
		const findMine = async <Row extends object>(path: string, id: keyof Row, from?: string) => {
			for (let cursor = from; ; ) {
				const { result, result_info } = await getPage<Row>(path, cursor);
				const row = result.find((one) => String(one[id]).startsWith(account));
				if (row || result_info.cursor === undefined) return { row, cursor };
				cursor = result_info.cursor;
			}
		};

		const listed = await findMine<{ id: string; created_on: string }>("/accounts", "id");
		expect(listed.row?.created_on).toMatch(/^\d{4}-\d\d-\d\dT/);

		// Both lists have the same pages. A report of all accounts would open the object of each.
		const { row } = await findMine<{ account: string; requests: number }>("/usage", "account", listed.cursor);
		expect(row?.requests).toBeGreaterThanOrEqual(1);
		const text = await (await get("/usage?format=csv", ADMIN)).text();
		expect(text).toMatch(
			/^account,requests,failed,input_tokens,cached_tokens,output_tokens,neurons,average_latency_ms,/,
		);

		for (const path of ["/accounts", "/usage"])
			expect(await failureOf(await get(path, token))).toBe(
				"403 10000: Authentication error: only the operator's token may call this route",
			);
		expect((await app.request(`${V4}/accounts`)).status).toBe(401);
	});

	it("continue after an account of a binding, whose id no address may have", async () => {
		const { app } = closedGateway();
		const page = await app.request(`${V4}/accounts?cursor=${encodeURIComponent("team a/ä")}`, {
			headers: { authorization: `Bearer ${ADMIN}` },
		});
		expect(page.status, await page.clone().text()).toBe(200);
		const { result } = await page.json<Page<{ id: string }>>();
		expect(result.filter(({ id }) => id <= "team a/ä")).toEqual([]);
	});
});
