import { expect, it } from "vitest";
import { inUploadTime } from "../../../src/surfaces/jobs/form-body.ts";

const MINUTE_MS = 60_000;

/** A body whose pieces arrive after `everyMs`, read to its end. The clock passes only while the reader waits. */
async function upload(pieces: number, { everyMs, bytes }: { everyMs: number; bytes: number }) {
	let time = 0;
	let onTime: { at: number; call(): void } | undefined;
	let sent = 0;
	let cancelled: unknown;
	const body = new ReadableStream<Uint8Array>(
		{
			pull(controller) {
				if (sent++ === pieces) return controller.close();
				const arrivesAt = time + everyMs;
				if (onTime && onTime.at <= arrivesAt) {
					time = onTime.at;
					onTime.call();
					return new Promise(() => {});
				}
				time = arrivesAt;
				controller.enqueue(new Uint8Array(bytes));
				return undefined;
			},
			cancel(reason) {
				cancelled = reason;
			},
		},
		{ highWaterMark: 0 },
	);
	const timed = inUploadTime(body, {
		now: () => time,
		startTimer(milliseconds, call) {
			onTime = { at: time + milliseconds, call };
			return { cancel: () => (onTime = undefined) };
		},
	});
	let received = 0;
	const error: unknown = await (async () => {
		for await (const piece of timed) received += piece.length;
	})().catch((thrown: unknown) => thrown);
	return { error, received, cancelled, minutes: time / MINUTE_MS };
}

it("reads a body that arrives slowly, but fast enough", async () => {
	const { error, received } = await upload(50, { everyMs: MINUTE_MS - 1, bytes: 70_000 });
	expect(error).toBeUndefined();
	expect(received).toBe(3_500_000);
});

it.each([
	["nothing for a minute", { everyMs: MINUTE_MS, bytes: 1_000_000 }, "nothing arrived for 60000 ms", 1],
	["a byte each 50 seconds", { everyMs: 50_000, bytes: 1 }, "fewer than 1024 bytes a second arrived", 2],
	[
		"2,000 bytes each 2 seconds",
		{ everyMs: 2_000, bytes: 2_000 },
		"fewer than 1024 bytes a second arrived",
		1,
	],
	["more than an hour", { everyMs: 1_000, bytes: 2_000 }, "the body did not arrive within 3600000 ms", 60],
])("refuses a body that sends %s", async (_, rate, message, minutes) => {
	const refused = await upload(10_000, rate);
	expect(refused.error).toMatchObject({ key: "timeout", description: `Request timeout: ${message}` });
	expect(refused.cancelled).toBe(refused.error);
	expect(refused.minutes).toBeLessThanOrEqual(minutes);
});
