/** Replays of many and large logs, of accounts without a budget, and by tokens of other accounts. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import { withMembers } from "../../../src/core/with-members.ts";
import type { Log } from "../../../src/gateways/logs/log-row.ts";
import { newLog } from "../../gateways/logs/rows.ts";
import { json, V4 } from "../../http/access.ts";
import { chatReply, replays, type Sent } from "./replays.ts";

/** docs/jobs.md: lines that one process runs at the same time at one backend. */
const CONCURRENCY = 16;
const T0 = Date.now() - 3_600_000;
const KEEP = { max: 10_000, strategy: "DELETE_OLDEST" } as const;

const { limit } = bufferedBytes.report();

afterEach(() => bufferedBytes.limitTo(limit));

type Gateway = Awaited<ReturnType<typeof replays>>;

/** A log of a chat. `answer`: absent for one without contents. */
function chatLog(index: number, question: string, answer?: string): Log {
	const sizes = { request_size: question.length, response_size: answer?.length ?? 0 };
	const log = newLog(
		{ ...sizes, model: "old", model_type: "Text Generation", path: "v1/chat/completions" },
		T0 + index * 10,
	);
	if (answer === undefined) return log;
	const sent = { model: "old", messages: [{ role: "user", content: question }] };
	const choices = [{ index: 0, message: { role: "assistant", content: answer } }];
	return {
		...log,
		request: { text: JSON.stringify(sent), complete: true },
		response: { text: JSON.stringify({ choices }), complete: true },
	};
}

/** Stores logs in the gateway `main`, which has none. */
async function store({ account, call, services }: Gateway, logs: readonly Log[]): Promise<void> {
	for (const log of logs) services.gatewayLogs.record(`${account}/main`, log, KEEP);
	const count = async () => (await call("/main/logs?per_page=1")).result_info?.total_count;
	await vi.waitFor(async () => expect(await count()).toBe(logs.length), { timeout: 30_000 });
}

const question = ({ messages }: Sent): string => messages.at(-1)?.content ?? "";

describe("a replay of many logs", () => {
	it("has at most the logs of its limit, the newest with complete contents, and reads few of them at a time", async () => {
		const gateway = await replays((sent) => chatReply(question(sent).slice(0, 100)));
		const large = "l".repeat(200_000);
		const logs = Array.from({ length: 400 }, (_, index) =>
			index % 20 === 0 ? chatLog(index, `${index} ${large}`, large) : chatLog(index, `${index}`, "Hello"),
		);
		const cut: Log = { ...chatLog(401, "cut", "Hello"), response: { text: '{"choices', complete: false } };
		await store(gateway, [...logs, ...Array.from({ length: 50 }, () => chatLog(400, "none")), cut]);
		const { gatewayLogs } = gateway.services;
		const reads = { now: 0, most: 0 };
		gateway.services.gatewayLogs = withMembers(gatewayLogs, {
			of(account, name) {
				const of = gatewayLogs.of(account, name);
				return {
					...of,
					async log(id) {
						reads.most = Math.max(reads.most, ++reads.now);
						return of.log(id).finally(() => reads.now--);
					},
				};
			},
		});
		expect((await gateway.create()).result.logs.total).toBe(100);
		const { result } = await gateway.create({ limit: 200 });
		expect(result.logs.total).toBe(200);
		await gateway.runAll();
		expect(await gateway.show(result.id)).toMatchObject({
			status: "completed",
			logs: { total: 200, completed: 200, failed: 0 },
		});
		const asked = gateway.sent.map((sent) => Number(question(sent).split(" ")[0]));
		expect(asked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => 200 + index));
		expect(reads.most).toBeGreaterThan(0);
		expect(reads.most).toBeLessThanOrEqual(CONCURRENCY);
		const path = `/main/replay/${result.id}/results`;
		const page = await gateway.call<{ log: string; before: { text: string } }[]>(
			`${path}?per_page=50&page=4`,
		);
		expect([page.result.length, page.result_info?.total_count]).toEqual([50, 200]);
		expect(page.result.at(-1)).toMatchObject({
			log: logs[200]?.row.id,
			before: { text: "l".repeat(32_768), text_complete: false },
		});
		expect((await gateway.call(`${path}?per_page=51`)).status).toBe(400);
	}, 120_000);

	it("holds the contents of its lines as buffered bytes, and waits while others need the room", async () => {
		const gateway = await replays(() => chatReply("Hello"));
		const before = bufferedBytes.report().used;
		const large = "l".repeat(200_000);
		await store(
			gateway,
			Array.from({ length: 6 }, (_, index) => chatLog(index, `${index} ${large}`, large)),
		);
		await vi.waitFor(() => expect(bufferedBytes.report().used).toBe(before));
		let most = 0;
		const { add } = bufferedBytes;
		const counted = vi.spyOn(bufferedBytes, "add").mockImplementation((account, amount) => {
			add.call(bufferedBytes, account, amount);
			most = Math.max(most, bufferedBytes.report().used - before);
		});
		const { result } = await gateway.create({ limit: 1_000 });
		// Another account needs nearly everything.
		bufferedBytes.limitTo(before + 600_000);
		expect(bufferedBytes.tryTake("another", 550_000)).toBe(true);
		expect(await gateway.runOnce()).toBeGreaterThan(0);
		expect(gateway.sent).toEqual([]);
		bufferedBytes.release("another", 550_000);
		bufferedBytes.limitTo(before + 4_000_000);
		await gateway.runAll();
		counted.mockRestore();
		expect(await gateway.show(result.id)).toMatchObject({ logs: { completed: 6, failed: 0 } });
		// An account alone has a half.
		expect(most).toBeGreaterThan(400_000);
		expect(most).toBeLessThanOrEqual(4_000_000 / 2 + 100_000);
		expect(bufferedBytes.report().used).toBe(before);
	}, 120_000);

	it("shows a page of 50 of the longest answers below 16 MiB, also if JSON has six bytes for each of their characters", async () => {
		const longest = "\u0001".repeat(35_000);
		const calls = Array.from({ length: 16 }, (_, index) => ({
			...{ id: `${index}`, type: "function" },
			function: { name: "\u0001".repeat(128), arguments: "\u0001".repeat(2_048) },
		}));
		const gateway = await replays(() => chatReply(longest, { tool_calls: calls }));
		const choices = [{ index: 0, message: { role: "assistant", content: longest, tool_calls: calls } }];
		const response = { text: JSON.stringify({ choices }), complete: true };
		expect(response.text.length).toBeGreaterThan(256 * 1024);
		await store(
			gateway,
			Array.from({ length: 10 }, (_, index) => ({ ...chatLog(index, "one", "two"), response })),
		);
		const { result } = await gateway.create();
		await gateway.runAll();
		const page = await gateway.call<object[]>(`/main/replay/${result.id}/results?per_page=50`);
		expect([page.status, page.result?.length]).toEqual([200, 10]);
		expect(5 * JSON.stringify(page).length).toBeLessThan(16 * 1024 * 1024);
		expect(page.result[0]).toMatchObject({
			before: { text_complete: false },
			after: { text_complete: false },
		});
		// Twice the characters of the table, and two quotation marks.
		const { text } = (page.result[0] as { after: { text: string } }).after;
		expect(JSON.stringify(text).length).toBeLessThanOrEqual(2 * 32_768 + 2);
		expect(text.length).toBeGreaterThan(5_000);
	}, 120_000);
});

describe("a replay whose account is over its budget", () => {
	it("waits, says so, and never passes the budget", async () => {
		const budget = 950;
		const gateway = await replays(() => chatReply("Hello"), {
			LIMITS: { daily_neurons: budget, requests_per_minute: "none" },
		});
		// 200 neurons each; a line costs a half.
		for (const text of ["one", "two", "three", "four"]) await gateway.chat(text, { max_tokens: 500 });
		const { result } = await gateway.create();
		let postponed: number | undefined = 0;
		for (let run = 0; run < 20 && postponed !== undefined && postponed < 60_000; run++) {
			await scheduler.wait(postponed);
			postponed = await gateway.runOnce();
		}
		expect(postponed).toBeGreaterThanOrEqual(60_000);
		const shown = await gateway.show(result.id);
		expect(shown).toMatchObject({
			status: "in_progress",
			waiting: { code: 3036, message: expect.stringContaining("budget") },
			logs: { total: 4, failed: 0 },
		});
		const spent = (await gateway.bills()).reduce((sum, { neurons }) => sum + neurons, 0);
		expect(spent).toBeLessThanOrEqual(budget);
		expect(gateway.sent.filter(({ model }) => model === "new")).toHaveLength(shown.logs.completed);
		await gateway.call(`/main/replay/${result.id}/cancel`, json("POST", {}));
		await gateway.runAll();
		const ended = await gateway.show(result.id);
		expect(ended.status).toBe("cancelled");
		expect(ended).not.toHaveProperty("waiting");
	});
});

describe("a token of another account", () => {
	it("creates, reads, cancels and deletes no replay, and replays no log", async () => {
		const gateway = await replays(() => chatReply("Hello"));
		const other = await replays(() => chatReply("Hello"));
		const log = await gateway.chat("one");
		const { result } = await gateway.create();
		const at = (account: string, below: string, init: RequestInit = {}) =>
			gateway.send(`${V4}/accounts/${account}/ai-gateway/gateways/main${below}`, other.token, init);
		const filters = [{ key: "id", operator: "eq", value: [log] }];
		const calls: [string, RequestInit?][] = [
			["/replay", json("POST", { model: "new" })],
			["/replay"],
			[`/replay/${result.id}`],
			[`/replay/${result.id}/results`],
			[`/replay/${result.id}/cancel`, json("POST", {})],
			[`/replay/${result.id}`, { method: "DELETE" }],
			["/shadows"],
			["/shadows/candidate/results"],
		];
		for (const [below, init] of calls)
			expect([below, (await at(gateway.account, below, init)).status]).toEqual([below, 403]);
		// Below its own account they do not exist.
		for (const [below, init] of calls.slice(2, 6))
			expect([below, (await at(other.account, below, init)).status]).toEqual([below, 404]);
		expect((await at(other.account, "/replay", json("POST", { model: "new", filters }))).status).toBe(400);
		expect(gateway.queued).toHaveLength(1);
		expect(await gateway.show(result.id)).toMatchObject({ status: "in_progress" });
	});
});
