/** A replay in plain workerd, whose process is killed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { DISCOUNT, PRICES } from "../../tools/soak/batches/audit.ts";
import { MODEL } from "../../tools/soak/batches/client.ts";
import { answerOf, countsOf, LineEngine } from "../../tools/soak/batches/engine.ts";
import { settingsOf } from "../../tools/soak/batches/run.ts";
import { settled } from "../../tools/soak/conservation.ts";
import { Gateway, micro } from "../../tools/soak/gateway.ts";

const ACCOUNT = "acme";
const LOGS = 120;
const KILLS = [0.3, 0.6];
const POLL_MS = 25;
const SETTLED_MS = 5_000;

interface Replay {
	id: string;
	status: string;
	logs: { total: number; completed: number; failed: number };
}
interface Result {
	log: string;
	before: { text: string };
	after?: { text: string };
}

it("answers each log once and bills it once although the process is killed", async () => {
	const engine = new LineEngine(20);
	const folder = mkdtempSync(join(tmpdir(), "ganglion-replays-"));
	const gateway = await Gateway.start(folder, settingsOf(await engine.listen()));
	const send = async (path: string, body?: object, headers: object = {}): Promise<Response> =>
		fetch(`${gateway.url}/client/v4/accounts/${ACCOUNT}${path}`, {
			method: body ? "POST" : "GET",
			headers: { "content-type": "application/json", authorization: Gateway.operator, ...headers },
			...(body && { body: JSON.stringify(body) }),
		});
	const replays = "/ai-gateway/gateways/default/replay";
	const result = async <Value>(path: string, body?: object): Promise<Value> => {
		const reply = (await (await send(path, body)).json()) as { result: Value | null; errors: unknown };
		if (reply.result === null) throw new Error(JSON.stringify(reply.errors));
		return reply.result;
	};
	try {
		const live = Array.from({ length: LOGS }, async (_, line) => {
			const messages = [{ role: "user", content: `line ${line}` }];
			const response = await send(
				"/ai/v1/chat/completions",
				{ model: MODEL, messages },
				{ "cf-aig-gateway-id": "default" },
			);
			await response.text();
			return response.status;
		});
		expect(new Set(await Promise.all(live))).toEqual(new Set([200]));
		await expect
			.poll(
				async () => (await result<object[]>("/ai-gateway/gateways/default/logs?per_page=50&page=3")).length,
				{
					timeout: 30_000,
				},
			)
			.toBe(20);
		engine.calls.clear();
		const paidLive = micro((await gateway.totals(ACCOUNT)).neurons);
		const { id, logs } = await result<Replay>(replays, { model: MODEL, limit: 1_000 });
		expect(logs.total).toBe(LOGS);
		const kills = [...KILLS];
		let state: Replay | undefined;
		while (state?.status !== "completed") {
			state = await result<Replay>(`${replays}/${id}`).catch(() => state);
			const [next = 2] = kills;
			if (state && state.logs.completed >= next * LOGS && state.status === "in_progress") {
				kills.shift();
				await gateway.kill();
			}
			await wait(POLL_MS);
		}
		await settled(gateway, ACCOUNT, SETTLED_MS);
		expect(gateway.kills).toHaveLength(KILLS.length);
		expect(state.logs).toEqual({ total: LOGS, completed: LOGS, failed: 0 });

		const rows: Result[] = [];
		for (let page = 1; page <= 3; page++)
			rows.push(...(await result<Result[]>(`${replays}/${id}/results?per_page=50&page=${page}`)));
		expect(new Set(rows.map(({ log }) => log)).size).toBe(LOGS);
		const numbers = Array.from({ length: LOGS }, (_, line) => line);
		expect(rows.map(({ after }) => after?.text).sort()).toEqual(numbers.map(answerOf).sort());
		expect(rows.every(({ before, after }) => before.text === after?.text)).toBe(true);

		const priceOf = (line: number): number =>
			countsOf(line).input * PRICES.input + countsOf(line).output * PRICES.output;
		const expected = numbers.reduce((sum, line) => sum + Math.ceil(priceOf(line) * DISCOUNT), 0);
		expect(paidLive).toBe(numbers.reduce((sum, line) => sum + priceOf(line), 0));
		expect(micro((await gateway.totals(ACCOUNT)).neurons) - paidLive).toBe(expected);
		const billed = (await gateway.rows(ACCOUNT)).filter(
			({ outcome, neurons }) => outcome === "ok" && neurons > 0,
		);
		expect(billed).toHaveLength(2 * LOGS);
		const calls = [...engine.calls.values()].reduce((sum, count) => sum + count, 0);
		expect(engine.calls.size).toBe(LOGS);
		expect(calls - LOGS).toBeLessThanOrEqual(await gateway.metric(ACCOUNT, "repeated_lines_total"));
	} finally {
		await gateway.stop();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
}, 240_000);
