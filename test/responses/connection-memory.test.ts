import { describe, expect, it } from "vitest";
import { bufferedBytes } from "../../src/core/process-counts.ts";
import { ConnectionMemory } from "../../src/responses/connection-memory.ts";

const message = (text: string) => ({ type: "message", role: "user", content: text });
const bytesOf = (items: readonly object[]): number =>
	items.reduce((sum, item) => sum + JSON.stringify(item).length, 0);
const heldBytes = (): number => bufferedBytes.report().used;

describe("the memory of a connection", () => {
	function connection(maxCharacters = 1e6) {
		const before = heldBytes();
		const memory = new ConnectionMemory(crypto.randomUUID(), maxCharacters);
		const turn = (id: string, fields: object, output: readonly object[]): Record<string, unknown> => {
			const continued = memory.continued({ store: false, ...fields });
			memory.remember(continued, { id, output });
			return continued;
		};
		return { memory, turn, held: () => heldBytes() - before };
	}

	it("is among the buffered bytes, each item once, until the connection ends", () => {
		const { held, memory, turn } = connection();
		const [question, answer, next, last] = ["What?", "This.", "Why?", "So."].map(message) as [
			object,
			object,
			object,
			object,
		];
		turn("resp_1", { input: [question] }, [answer]);
		expect(held()).toBe(bytesOf([question, answer]));
		const { input } = turn("resp_2", { input: [next], previous_response_id: "resp_1" }, [last]);
		expect(input).toEqual([question, answer, next]);
		expect(held()).toBe(bytesOf([question, answer, next, last]));
		memory.close();
		expect(held()).toBe(0);
		turn("resp_3", { input: [question] }, []);
		expect(held()).toBe(0);
	});

	it("keeps the items of a forgotten response as long as another one has them", () => {
		const { held, memory, turn } = connection();
		const question = message("What?");
		turn("resp_0", { input: [question] }, []);
		for (let number = 1; number < 9; number++)
			turn(`resp_${number}`, { input: [], previous_response_id: `resp_${number - 1}` }, []);
		expect(memory.continued({ previous_response_id: "resp_0" })).toEqual({ previous_response_id: "resp_0" });
		expect(held()).toBe(bytesOf([question]));
		for (let number = 9; number < 17; number++) turn(`resp_${number}`, { input: [] }, []);
		expect(held()).toBe(0);
	});

	it("forgets the oldest response if the process has no room, and a response that is too large", () => {
		const { held, memory, turn } = connection(20e6);
		const free = bufferedBytes.report().limit - heldBytes();
		const large = message("a".repeat(Math.floor(free / 3)));
		turn("resp_1", { input: [large] }, []);
		const other = message("b".repeat(Math.floor(free / 3)));
		turn("resp_2", { input: [other] }, []);
		expect(held()).toBe(0);
		memory.close();
		const small = connection(100);
		small.turn("resp_1", { input: [message("a".repeat(100))] }, []);
		expect(small.held()).toBe(0);
	});
});
