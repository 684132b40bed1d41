import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { delayAt, measureDelays } from "../../tools/soak/gateways/delays.ts";
import { Excuses } from "../../tools/soak/gateways/excuses.ts";

/** Request 0 from 0 to 9,000 ms, with one answer of the engine. Its first call failed at once, the second and the third are complete. */
function excuses({
	secondAt = 20,
	thirdAt = 40,
	endedAt = 9_000,
	holdMs = 20_000,
	killAt = 60_000,
	delayMs = 0,
	end = "complete",
}: Partial<Record<"secondAt" | "thirdAt" | "endedAt" | "holdMs" | "killAt" | "delayMs", number>> & {
	end?: "complete" | "disconnected";
}) {
	const record = { index: 0, id: "id", startedAt: 0, endedAt, status: 200, end };
	const call = (openedAt: number, complete: boolean) => ({
		index: 0,
		attempt: 1,
		backend: "primary",
		maxTokens: 5,
		openedAt,
		closedAt: openedAt + 10,
		events: 1,
		sentAt: [openedAt],
		outputTokens: 1,
		complete,
		abandoned: false,
	});
	const calls = [call(0, false), call(secondAt, true), call(thirdAt, true)];
	const made = new Excuses({
		calls: [calls],
		delays: [{ from: killAt - delayMs, to: killAt }],
		holdMs,
		kills: [{ at: killAt, upAt: killAt + 100 }],
		records: [{ ...record, tokens: [], errorFrame: false }],
	});
	const request = { index: 0, resumable: false, steps: [0] };
	return {
		unbilled: made.unbilled(call(secondAt, true), [request]),
		unsettled: made.unsettled(request, { ...record, tokens: [], errorFrame: false }),
		expiry: made.expiry({ id: "id", started_at: new Date(performance.timeOrigin).toISOString() }),
		lostLog: made.lostLog(request, { ...record, tokens: [], errorFrame: false }) !== undefined,
	};
}

const NONE = { unbilled: false, unsettled: false, expiry: false, lostLog: false };

describe("the audit of a run through gateways excuses", () => {
	it.each([
		["nothing, if the gateway calls again at once", {}, NONE],
		["a call after which the gateway waited 1.5 s", { thirdAt: 1_520 }, { ...NONE, unbilled: true }],
		// Its second call was sent at 10 ms at the earliest.
		["a call that the engine read late", { secondAt: 400, thirdAt: 1_520 }, { ...NONE, unbilled: true }],
		["no call before that time", { secondAt: 400, thirdAt: 1_500 }, NONE],
		[
			"a request that lasts longer than its reservation",
			{ holdMs: 9_000 },
			{ ...NONE, unbilled: true, unsettled: true, expiry: true },
		],
		[
			"what ended 500 ms before a kill",
			{ killAt: 9_500 },
			{ unbilled: true, unsettled: true, expiry: true, lostLog: true },
		],
		[
			"no lost log of a request that ended earlier",
			{ killAt: 9_501 },
			{ unbilled: true, unsettled: true, expiry: true, lostLog: false },
		],
		[
			"a lost log 800 ms before a kill, if the smallest request takes 100 ms",
			{ killAt: 9_800, delayMs: 100 },
			{ unbilled: true, unsettled: true, expiry: true, lostLog: true },
		],
		[
			"a lost log of a caller that left an engine that stalls, long before the kill that ends the call",
			{ end: "disconnected", thirdAt: 24_990, killAt: 25_000 },
			{ unbilled: true, unsettled: true, expiry: true, lostLog: true },
		],
		[
			"no lost log of a caller that left, if its call ended then",
			{ end: "disconnected" },
			{ ...NONE, unbilled: true },
		],
	] as const)("%s", (_, run, expected) => {
		expect(excuses(run)).toEqual(expected);
	});

	it("the longest delay shortly before a kill, up to the kill", () => {
		const delays = [
			{ from: 0, to: 900 },
			{ from: 3_500, to: 4_000 },
			{ from: 4_800, to: 5_600 },
			{ from: 5_000, to: 9_000 },
		];
		expect([delayAt(5_000, delays), delayAt(5_300, delays), delayAt(800, delays)]).toEqual([500, 500, 800]);
	});
});

describe("the measurement of delays", () => {
	async function measured(answer: RequestListener) {
		const server = createServer(answer);
		onTestFinished(() => {
			server.closeAllConnections();
			server.close();
		});
		await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
		const stop = new AbortController();
		const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
		return { stop, delays: measureDelays({ isUp: true, url }, stop.signal) };
	}

	it("ends with its signal while an answer is awaited, which is no delay", async () => {
		const received = Promise.withResolvers<void>();
		const { stop, delays } = await measured(() => received.resolve());
		await received.promise;
		stop.abort();
		expect(await delays).toEqual([]);
	});

	it("continues after an answer that breaks off", async () => {
		const second = Promise.withResolvers<void>();
		let requests = 0;
		const { stop, delays } = await measured((_, response) => {
			if (requests++ > 0) return second.resolve();
			response.writeHead(200, { "content-length": "100" });
			response.write("part", () => response.destroy());
		});
		await second.promise;
		stop.abort();
		expect(await delays).toHaveLength(1);
	});
});
