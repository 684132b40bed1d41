/**
 * Refusals that are complete before their request is, in plain workerd without the guard of `ganglion serve`. Every caller gets them, also one
 * that reads only when it has sent all.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Gateway } from "../../tools/soak/gateway.ts";
import { PIECE, statusOf } from "./early-request.ts";

const RUN = "/client/v4/accounts/acme/ai/run/@cf/meta/llama-3.1-8b-instruct-fp8";
const AT_ONCE = 16;
const authorized = `authorization: ${Gateway.operator}`;

const REFUSALS = {
	"a wrong token": [`POST ${RUN} HTTP/1.1`, "authorization: Bearer wrong", "401"],
	"a path without a route": ["POST /client/v4/accounts/acme/ai/none HTTP/1.1", authorized, "400"],
	"another method": [`PUT ${RUN} HTTP/1.1`, authorized, "405"],
} as const;

describe("plain workerd answers early", () => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-early-plain-"));
	let gateway: Gateway;
	let port = 0;
	beforeAll(async () => {
		gateway = await Gateway.start(folder, {});
		port = Number(new URL(gateway.url).port);
	});
	afterAll(async () => {
		await gateway.stop();
		rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
	});

	const sizes = Object.entries({ "70 KB": 70 * 1024, "1 MB": 1024 * 1024, "20 MB": 20 * 1024 * 1024 });
	it.each(
		sizes.flatMap(([size, bytes]) =>
			Object.entries(REFUSALS).map(([what, refusal]) => [size, what, bytes, refusal] as const),
		),
	)("to a body of %s with %s", async (_, __, bytes, [startLine, header, status]) => {
		for (const isChunked of [false, true])
			for (const readsLast of [false, true]) {
				const kind = { startLine, headers: [header], bytes, isChunked, readsLast };
				const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => statusOf(port, kind)));
				expect(answers, JSON.stringify(kind)).toEqual(Array.from({ length: AT_ONCE }, () => status));
			}
	});

	it("at once, to a caller who sends no more", async () => {
		const socket = createConnection({ port, host: "127.0.0.1" });
		const at = performance.now();
		socket.write(
			`POST ${RUN} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\ncontent-length: 1000000\r\n\r\n`,
		);
		const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
		expect(answer.toString().slice(0, 12)).toBe("HTTP/1.1 401");
		expect(performance.now() - at).toBeLessThan(5_000);
		socket.destroy();
	});

	it("and reads no more than 32 MiB of a caller who sends for ever", async () => {
		const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
		const closed = new Promise((resolve) => socket.once("close", resolve));
		socket.resume();
		socket.write(
			`POST ${RUN} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\ncontent-length: 1000000000\r\n\r\n`,
		);
		const sendOn = (): void => {
			while (socket.writable && socket.write(PIECE));
		};
		socket.on("drain", sendOn);
		sendOn();
		await closed;
		expect(socket.bytesWritten).toBeGreaterThan(30 * 1024 * 1024);
		expect(socket.bytesWritten).toBeLessThan(60 * 1024 * 1024);
	});
});
