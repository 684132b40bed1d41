/** What a shadow may take: the time and bytes of its answer, places, room and money. The caller of the live request notices none of it. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { startNativeTimer } from "../../../src/core/lazy-timer.ts";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import { ADMIN, json, V4 } from "../../http/access.ts";
import { chatReply, PRICED } from "./replays.ts";
import { echo, SHADOW, shadowed } from "./shadows.ts";

const MIB = 1024 * 1024;
/** docs/security.md: answers above it fail. */
const MAX_ANSWER = 24 * MIB;
/** docs/jobs.md: the longest time of a shadow. */
const MAX_MS = 5 * 60_000;
const PIECE = new TextEncoder().encode("x".repeat(256 * 1024));

const { limit } = bufferedBytes.report();

afterEach(() => bufferedBytes.limitTo(limit));

type Shadowed = Awaited<ReturnType<typeof shadowed>>;

const held = ({ services }: Shadowed, name: string): number =>
	services.counts().find((count) => count.name === name)?.used ?? 0;

/** Sends a live request, and returns its answer. */
async function ask({ account, send }: Shadowed, content: string, own = account, model = "old") {
	const response = await send(`${V4}/accounts/${own}/ai/v1/chat/completions`, ADMIN, {
		...json("POST", { model, messages: [{ role: "user", content }] }),
		headers: { "content-type": "application/json", "cf-aig-gateway-id": "main" },
	});
	const { choices } = await response.json<{ choices?: { message: { content: string } }[] }>();
	return [response.status, choices?.[0]?.message.content];
}

/** An answer that never ends. `begin`: its first bytes. */
function endless(contentType: string, begin: string, piece: Uint8Array, everyMs = 0) {
	const seen = { bytes: 0, isCancelled: false };
	const body = new ReadableStream<Uint8Array>({
		start: (controller) => controller.enqueue(new TextEncoder().encode(begin)),
		async pull(controller) {
			await scheduler.wait(everyMs);
			if (seen.isCancelled) return;
			seen.bytes += piece.length;
			controller.enqueue(piece);
		},
		cancel() {
			seen.isCancelled = true;
		},
	});
	return { seen, response: new Response(body, { headers: { "content-type": contentType } }) };
}

describe("a shadow whose answer never ends", () => {
	it.each([
		["JSON", "application/json", '{"choices": [{"message": {"content": "'],
		["one event", "text/event-stream", "data: "],
	])("fails above 24 MiB, and releases its place: %s", async (_, contentType, begin) => {
		const { seen, response } = endless(contentType, begin, PIECE);
		const gateway = await shadowed((sent) => (sent.model === "new" ? response : echo(sent)));
		const before = bufferedBytes.report().used;
		expect(await ask(gateway, "one")).toEqual([200, "old: one"]);
		await gateway.settled(1);
		expect(gateway.outcomes()).toEqual({ failed: 1 });
		expect(seen.isCancelled).toBe(true);
		// The runtime reads some pieces ahead.
		expect(seen.bytes).toBeLessThan(MAX_ANSWER + MIB);
		await expect.poll(() => [held(gateway, "shadows"), bufferedBytes.report().used]).toEqual([0, before]);
		expect(await gateway.rows()).toMatchObject([{ before: { text: "old: one" }, error: {} }]);
		expect((await gateway.rows())[0]).not.toHaveProperty("after");
	});

	it("ends at the time of its target", async () => {
		const slow = endless("application/json", "{", new TextEncoder().encode(" "), 20);
		const gateway = await shadowed((sent) => (sent.model === "new" ? slow.response : echo(sent)), {
			timeouts: { total_ms: 300 },
		});
		expect(await ask(gateway, "one")).toEqual([200, "old: one"]);
		await gateway.settled(1);
		expect([gateway.outcomes(), held(gateway, "shadows")]).toEqual([{ failed: 1 }, 0]);
		await expect.poll(() => slow.seen.isCancelled).toBe(true);
	});

	it("ends after five minutes, whatever the times of its target are", async () => {
		const slow = endless("application/json", "{", new TextEncoder().encode(" "), 20);
		const gateway = await shadowed((sent) => (sent.model === "new" ? slow.response : echo(sent)));
		const { startTimer = startNativeTimer } = gateway.services;
		let late = (): void => {};
		gateway.services.startTimer = (milliseconds, onTime, left) => {
			if (milliseconds !== MAX_MS) return startTimer(milliseconds, onTime, left);
			late = onTime;
			return { cancel: () => {} };
		};
		expect(await ask(gateway, "one")).toEqual([200, "old: one"]);
		await vi.waitFor(() => expect(slow.seen.bytes).toBeGreaterThan(3));
		expect([gateway.outcomes(), held(gateway, "shadows")]).toEqual([{}, 1]);
		late();
		await gateway.settled(1);
		expect([gateway.outcomes(), held(gateway, "shadows")]).toEqual([{ failed: 1 }, 0]);
		await expect.poll(() => slow.seen.isCancelled).toBe(true);
	});

	it("is compared if it is large and ends: the texts of the table are cut", async () => {
		const large = "y".repeat(5 * MIB);
		const gateway = await shadowed((sent) =>
			sent.model === "new"
				? Response.json({ choices: [{ index: 0, message: { role: "assistant", content: large } }] })
				: echo(sent),
		);
		expect(await ask(gateway, "one")).toEqual([200, "old: one"]);
		await gateway.settled(1);
		expect(gateway.outcomes()).toEqual({ compared: 1 });
		const [row] = await gateway.rows();
		expect(row?.after).toMatchObject({ text: "y".repeat(32_768), text_complete: false });
	});
});

describe("shadows of several accounts that hang", () => {
	it("are at most 32, and none waits for a place", async () => {
		const hung = Promise.withResolvers<void>();
		const gateway = await shadowed(async (sent) => {
			if (sent.model === "new") await hung.promise;
			return echo(sent);
		});
		const accounts = Array.from({ length: 6 }, (_, index) => `${gateway.account}-${index}`);
		for (const account of accounts)
			for (let request = 0; request < 20; request++)
				expect(await ask(gateway, "one", account)).toEqual([200, "old: one"]);
		await vi.waitFor(() => expect(gateway.toShadow()).toHaveLength(held(gateway, "shadows")));
		const running = gateway.toShadow().length;
		// One account has 16, and the others parts of the rest.
		expect(running).toBeGreaterThan(16);
		expect(running).toBeLessThanOrEqual(32);
		expect(gateway.outcomes()).toEqual({ dropped: 120 - running });
		hung.resolve();
		await gateway.settled(120);
		expect(gateway.toShadow()).toHaveLength(running);
		expect(gateway.outcomes()).toEqual({ dropped: 120 - running, compared: running });
		expect(held(gateway, "shadows")).toBe(0);
	}, 60_000);

	it("leave seven eighths of the room to live requests, also to those of their account", async () => {
		const hung = Promise.withResolvers<void>();
		const gateway = await shadowed(async (sent) => {
			if (sent.model === "new") await hung.promise;
			return chatReply("Hello");
		});
		const room = 8_000_000;
		// What earlier tests release later would make the room larger.
		let used = -1;
		const isSteady = () => {
			const before = used;
			used = bufferedBytes.report().used;
			return used === before;
		};
		await expect.poll(isSteady, { interval: 500, timeout: 20_000 }).toBe(true);
		bufferedBytes.limitTo(used + room);
		for (let request = 0; request < 12; request++)
			expect(await ask(gateway, "z".repeat(240_000))).toEqual([200, "Hello"]);
		// The contents of four are an eighth.
		await vi.waitFor(() =>
			expect([gateway.outcomes(), gateway.toShadow().length]).toEqual([{ dropped: 8 }, 4]),
		);
		// An account alone gets a half of the rest. Logs that wait for their object count, too.
		await expect
			.poll(() => bufferedBytes.report().used + room - bufferedBytes.report().limit)
			.toBeLessThanOrEqual(room / 8);
		expect(await ask(gateway, "z".repeat(3_300_000))).toEqual([200, "Hello"]);
		hung.resolve();
		await gateway.settled(13);
		expect([gateway.outcomes(), held(gateway, "shadows")]).toMatchObject([{ compared: 4 }, 0]);
	}, 60_000);
});

describe("the budget of the operator", () => {
	it("is never passed: the shadow fails without a call and a bill, and the live request has its answer and bill", async () => {
		// The shadows of other tests are bills of the same account, so the route is this test's own.
		const route = { targets: [{ backend: "engine", model: "old" }], shadow: SHADOW };
		const gateway = await shadowed(
			echo,
			{ name: "unused" },
			{ capped: route },
			{
				MODELS: { capped: PRICED },
				LIMITS: { accounts: { operator: { daily_neurons: 1 } }, requests_per_minute: "none" },
			},
		);
		for (const content of ["one", "two"])
			expect(await ask(gateway, content, gateway.account, "capped")).toEqual([200, `old: ${content}`]);
		await gateway.settled(2);
		expect([gateway.outcomes(), held(gateway, "shadows")]).toEqual([{ failed: 2 }, 0]);
		expect(gateway.toShadow()).toEqual([]);
		expect(await gateway.rows()).toMatchObject([{ error: { code: 3036 } }, { error: { code: 3036 } }]);
		const bills = await gateway.operatorBills("capped");
		expect(bills.filter(({ neurons }) => neurons > 0)).toEqual([]);
		await expect.poll(gateway.bills).toEqual(Array(2).fill({ neurons: 200, model: "capped", outcome: "ok" }));
	});
});
