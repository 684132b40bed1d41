import { describe, expect, it } from "vitest";
import { identityOf } from "../../../src/pipeline/dispatch/request-key.ts";
import { completion } from "../../gateway.ts";
import { CHAT, streamed, world } from "./world.ts";

describe("identityOf", () => {
	it("is the same for the same question of the same account to the same model", async () => {
		const once = await identityOf("a", "m", CHAT);
		expect(once).toMatch(/^[0-9a-f]{64}$/);
		expect(await identityOf("a", "m", structuredClone(CHAT))).toBe(once);
		const others = [
			await identityOf("b", "m", CHAT),
			await identityOf("a", "n", CHAT),
			await identityOf("a", "m", { ...CHAT, input: { ...CHAT.input, temperature: 1 } } as typeof CHAT),
		];
		expect(new Set([once, ...others]).size).toBe(4);
	});

	it("has none for streams, and for what is not text", async () => {
		expect(await identityOf("a", "m", streamed())).toBeUndefined();
		const audio = { bytes: new Uint8Array(1) };
		expect(await identityOf("a", "m", { task: "turn-detection", input: { audio } })).toBeUndefined();
		const passthrough = { sound: new ArrayBuffer(1) };
		const withBuffer = { ...CHAT, input: { ...CHAT.input, passthrough } } as typeof CHAT;
		expect(await identityOf("a", "m", withBuffer)).toBeUndefined();
	});
});

it("identical requests that opt in are one call, and one bill", async () => {
	const { engines, holdWaits, run } = world({ replies: { a: () => Response.json(completion("a")) } });
	holdWaits();
	const [first, second, apart, alone] = await Promise.all([
		run(CHAT, "account"),
		run(CHAT, "account"),
		run(CHAT, "another"),
		run(CHAT),
	]);
	expect(engines()).toEqual(["a", "a", "a"]);
	expect([first, second, apart, alone].map(({ served }) => served.shared)).toEqual([
		undefined,
		true,
		undefined,
		undefined,
	]);
	expect(second.answer).toEqual(first.answer);
	expect(second.answer.answer).not.toBe(first.answer.answer);
});
