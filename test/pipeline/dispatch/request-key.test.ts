import { describe, expect, it } from "vitest";
import { requestKey } from "../../../src/pipeline/dispatch/request-key.ts";
import { SingleFlight } from "../../../src/pipeline/dispatch/single-flight.ts";
import type { EngineAnswer } from "../../../src/pipeline/request.ts";
import { completion } from "../../gateway.ts";
import { dispatchShared } from "../exchanges.ts";
import { CHAT, streamed, world } from "./world.ts";

describe("requestKey", () => {
	it("is the same for the same question of the same account to the same model", async () => {
		const once = await requestKey("a", "m", CHAT);
		expect(once).toMatch(/^[0-9a-f]{64}$/);
		expect(await requestKey("a", "m", structuredClone(CHAT))).toBe(once);
		const others = [
			await requestKey("b", "m", CHAT),
			await requestKey("a", "n", CHAT),
			await requestKey("a", "m", { ...CHAT, input: { ...CHAT.input, temperature: 1 } } as typeof CHAT),
		];
		expect(new Set([once, ...others]).size).toBe(4);
	});

	it("has none for streams, and for what is not text", async () => {
		expect(await requestKey("a", "m", streamed())).toBeUndefined();
		const audio = { bytes: new Uint8Array(1) };
		expect(await requestKey("a", "m", { task: "turn-detection", input: { audio } })).toBeUndefined();
		const passthrough = { sound: new ArrayBuffer(1) };
		const withBuffer = { ...CHAT, input: { ...CHAT.input, passthrough } } as typeof CHAT;
		expect(await requestKey("a", "m", withBuffer)).toBeUndefined();
	});
});

it("identical requests that opt in are one call, and one bill", async () => {
	const {
		caller: { signal },
		engines,
		holdWaits,
		run,
		services,
	} = world({ replies: { a: () => Response.json(completion("a")) } });
	holdWaits();
	const shared = {
		services: { ...services, flights: new SingleFlight<EngineAnswer>() },
		signal,
		dispatch: run,
	};
	const [first, second, apart, alone] = await Promise.all([
		dispatchShared("account", CHAT, shared),
		dispatchShared("account", CHAT, shared),
		dispatchShared("another", CHAT, shared),
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
