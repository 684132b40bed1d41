import { expect, it } from "vitest";
import { refuseLoraAndChoices, unsupported } from "../../src/backends/unsupported.ts";
import { callOf, json } from "./upstream.ts";

const call = callOf(() => json({}));
const input = { messages: [], stream: false };

it("is another target's turn, and no failure of this one", () => {
	expect(unsupported(call, "has no input for x")).toMatchObject({
		key: "engineRefused",
		description: "The backend 'lab' has no input for x",
		retryable: true,
		upstream: { backend: "lab" },
	});
});

it("refuses adapters, and more than one answer", () => {
	expect(() => refuseLoraAndChoices(input, call)).not.toThrow();
	expect(() => refuseLoraAndChoices({ ...input, n: 1 }, call)).not.toThrow();
	expect(() => refuseLoraAndChoices({ ...input, n: 2 }, call)).toThrow(
		expect.objectContaining({ description: "The backend 'lab' gives one answer a request" }),
	);
	expect(() => refuseLoraAndChoices({ ...input, lora: "a" }, call)).toThrow(
		expect.objectContaining({
			key: "loraUnsupported",
			description: "The model @cf/lab/model does not support LoRa inference",
		}),
	);
});
