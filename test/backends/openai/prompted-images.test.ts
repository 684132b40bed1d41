import { encode } from "fast-png";
import { describe, expect, it } from "vitest";
import { outputOf } from "../ask.ts";
import { failureOf } from "../upstream.ts";
import { ask, says, saysJson } from "./ask.ts";

const PNG = new Uint8Array(
	encode({ width: 200, height: 100, data: new Uint8Array(200 * 100), depth: 8, channels: 1 }),
);
const image = { bytes: PNG, contentType: "application/octet-stream" };
const url = `data:image/png;base64,${btoa(String.fromCharCode(...PNG))}`;
const picture = { type: "image_url", image_url: { url } };
const fails = { key: "executionFailed" };

describe("a description", () => {
	it("sends the image and the caller's sampling", async () => {
		const asking = ask(
			"image-to-text",
			{ image, prompt: "What is it?", raw: true, max_tokens: 9, top_k: 3 },
			() => says("A cat."),
		);
		expect(await outputOf(asking)).toEqual({
			description: "A cat.",
			usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
		});
		expect(asking.call.requests[0]?.json).toEqual({
			model: "engine-model",
			messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, picture] }],
			stream: false,
			temperature: 0,
			max_tokens: 9,
			top_k: 3,
			chat_template_kwargs: { enable_thinking: false },
		});
	});

	it("has a default prompt", async () => {
		const asking = ask("image-to-text", { image, temperature: 0.7 }, () => says("A cat."));
		await asking.answer;
		expect(asking.call.requests[0]?.json).toMatchObject({
			messages: [{ content: [{ text: "Generate a caption for this image" }, picture] }],
			temperature: 0.7,
		});
	});

	it("sends only the bytes of a view", async () => {
		const bytes = new Uint8Array([9, 9, ...PNG, 9]).subarray(2, 2 + PNG.length);
		const asking = ask("image-to-text", { image: { bytes } }, () => says("A cat."));
		await asking.answer;
		expect(JSON.stringify(asking.call.requests[0]?.json)).toContain(`"${url}"`);
	});
});

describe("an image's classes", () => {
	const classify = (reply: unknown) => ask("image-classification", { image }, () => saysJson(reply));

	it("are sorted and sum to 1", async () => {
		const asking = classify({
			labels: [
				{ label: "dog", percent: 20 },
				{ label: "cat", percent: 60 },
			],
		});
		expect(await outputOf(asking)).toEqual({
			labels: [
				{ label: "cat", score: 0.75 },
				{ label: "dog", score: 0.25 },
			],
		});
		expect(asking.call.requests[0]?.json.messages).toMatchObject([
			{ role: "system" },
			{ content: [picture] },
		]);
	});

	it.each([
		{ labels: [] },
		{ labels: [{ label: "cat", percent: 0 }] },
		{ labels: [{ label: "", percent: 5 }] },
		{ labels: Array(6).fill({ label: "cat", percent: 5 }) },
		{ labels: [{ label: "cat", percent: 500 }] },
	])("fail for an invalid reply: %j", async (reply) => {
		expect(await failureOf(classify(reply).answer)).toMatchObject(fails);
	});
});

describe("an image's objects", () => {
	const box = { xmin: 100, ymin: 200, xmax: 500, ymax: 1000 };
	const detect = (objects: unknown[], more = {}) =>
		ask("object-detection", { image, ...more }, () => saysJson({ objects }));

	it("are requested in thousandths and returned in pixels, sorted by score", async () => {
		const asking = detect([
			{ label: "dog", percent: 40, ...box },
			{ label: "cat", percent: 90, ...box, xmax: 1000 },
		]);
		expect(await outputOf(asking)).toEqual({
			objects: [
				{ label: "cat", score: 0.9, box: { xmin: 20, ymin: 20, xmax: 200, ymax: 100 } },
				{ label: "dog", score: 0.4, box: { xmin: 20, ymin: 20, xmax: 100, ymax: 100 } },
			],
			width: 200,
			height: 100,
		});
		expect(asking.call.requests[0]?.json.messages).toMatchObject([
			{ content: expect.stringContaining("Find every object in the image") },
			{ content: [picture] },
		]);
	});

	it("are limited to the target and to max_objects", async () => {
		const asking = detect(
			[
				{ label: "cat", percent: 90, ...box },
				{ label: "cat", percent: 80, ...box },
			],
			{ target: "cat", max_objects: 1 },
		);
		expect((await outputOf(asking)).objects).toHaveLength(1);
		expect(asking.call.requests[0]?.json.messages).toMatchObject([
			{ content: expect.stringContaining("Find every cat in the image") },
			{},
		]);
	});

	it("are dropped without an area", async () => {
		const asking = detect([
			{ label: "cat", percent: 90, ...box, xmin: 500 },
			{ label: "cat", percent: 90, ...box, ymin: 1000 },
		]);
		expect(await outputOf(asking)).toEqual({ objects: [], width: 200, height: 100 });
	});

	it("fail if a coordinate is out of range", async () => {
		expect(await failureOf(detect([{ label: "cat", percent: 90, ...box, xmax: 1001 }]).answer)).toMatchObject(
			fails,
		);
	});

	it("rejects bytes that are not an image", async () => {
		const asking = ask("object-detection", { image: { bytes: new Uint8Array([1, 2, 3]) } }, () => says(""));
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "refusedByModel",
			description: "Invalid input image[0]: unable to decode image file",
		});
		expect(asking.call.requests).toHaveLength(0);
	});
});
