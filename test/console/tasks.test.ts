/** Every task of the playground but chat, with the simulator's answers. */
import { encode } from "fast-png";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { api } from "./api.ts";
import { playgroundTab, sharedSession } from "./browser.ts";

const { open } = playgroundTab();

const run = (page: Page): Promise<void> => page.getByRole("button", { name: "Run" }).click();
const result = (page: Page) => page.getByRole("region", { name: "Result" });

const IMAGE = {
	name: "grey.png",
	mimeType: "image/png",
	buffer: Buffer.from(
		encode({ width: 64, height: 32, channels: 3, data: new Uint8Array(64 * 32 * 3).fill(99) }),
	),
};

async function speech(prompt: string) {
	const path = "/accounts/tasks/ai/run/@cf/myshell-ai/melotts";
	const { audio } = await api<{ audio: string }>("POST", path, { prompt });
	return { name: "speech.mp3", mimeType: "audio/mpeg", buffer: Buffer.from(audio, "base64") };
}

describe("the playground", () => {
	it.each([
		["@cf/black-forest-labs/flux-1-schnell", "in JSON"],
		["@cf/bytedance/stable-diffusion-xl-lightning", "as bytes"],
		["@cf/black-forest-labs/flux-2-klein-4b", "of a form"],
	])("shows an image of %s, %s", async (model) => {
		const page = await open(model);
		await run(page);
		const image = result(page).getByAltText("The answer of the model");
		await image.waitFor();
		await expect
			.poll(() => image.evaluate(({ naturalWidth }: { naturalWidth: number }) => naturalWidth))
			.toBeGreaterThan(0);
		expect(await page.getByRole("region", { name: "Measurements" }).textContent()).toContain("Neurons");
	});

	it.each(["@cf/myshell-ai/melotts", "@cf/deepgram/aura-1"])("plays the speech of %s", async (model) => {
		const page = await open(model);
		await run(page);
		const audio = result(page).locator("audio");
		await audio.waitFor();
		await expect
			.poll(() => audio.evaluate(({ duration }: { duration: number }) => duration))
			.toBeGreaterThan(0.2);
	});

	it("transcribes a file", async () => {
		const page = await open("@cf/openai/whisper-large-v3-turbo");
		await page.getByLabel("audio").setInputFiles(await speech("The train leaves at noon"));
		await run(page);
		await result(page).getByText("The train leaves at noon", { exact: true }).waitFor();
	});

	it("sends each line of a field of several texts, beside a file as the body", async () => {
		const page = await open("@cf/deepgram/nova-3");
		await page.getByLabel("audio").setInputFiles(await speech("Bern"));
		await page.getByText("Settings").click();
		await page.getByLabel("keyterm (one per line)").fill("Bern, the city\nAare");
		const request = page.waitForRequest(/\/ai\/run\//);
		await run(page);
		const { searchParams } = new URL((await request).url());
		expect(searchParams.getAll("keyterm")).toEqual(["Bern, the city", "Aare"]);
		await result(page).waitFor();
		expect(await page.getByLabel("curl", { exact: true }).textContent()).toContain(
			"keyterm=Bern%2C+the+city&keyterm=Aare",
		);
	});

	it("keeps the name of a chosen file in its control, and shows a reply that has no other form", async () => {
		const page = await open("@cf/cloudflare/clef");
		await run(page);
		await result(page).getByLabel("reply", { exact: true }).waitFor();
		await open("@cf/openai/whisper-tiny-en");
		await page.getByLabel("audio").setInputFiles(await speech("Bern"));
		expect(await page.getByLabel("audio").inputValue()).toMatch(/speech\.mp3$/);
		await run(page);
		await result(page).waitFor();
		expect(await page.getByLabel("audio").inputValue()).toMatch(/speech\.mp3$/);
		// A model without a price.
		expect(await page.getByRole("region", { name: "Measurements" }).textContent()).toMatch(/^Neurons0Total/);
	});

	it("transcribes the microphone", async () => {
		const page = await open("@cf/openai/whisper");
		await page.context().grantPermissions(["microphone"]);
		await page.getByRole("button", { name: "Record" }).click();
		await page.getByRole("timer").getByText(/[1-9]/).waitFor();
		await page.getByRole("button", { name: "Stop recording" }).click();
		await expect.poll(() => page.getByLabel("audio").inputValue()).toMatch(/recording\.webm$/);
		await run(page);
		await result(page)
			.getByText(/Simulated transcript/)
			.first()
			.waitFor();
	});

	it.each(["dev", "serve"] as const)("transcribes live on npm run %s", async (runtime) => {
		const tab = await sharedSession(runtime, "/console/playground/@cf/deepgram/flux");
		const { page } = tab;
		await page.context().grantPermissions(["microphone"]);
		await page.getByRole("button", { name: "Start" }).click();
		await page
			.getByRole("list", { name: "Transcript" })
			.getByText(/speech/)
			.first()
			.waitFor();
		await page.getByRole("button", { name: "Stop" }).click();
		await page.getByRole("button", { name: "Start" }).waitFor();
		expect(await page.getByRole("alert").count()).toBe(0);
		await tab.close();
	});

	it("compares texts by their vectors", async () => {
		const page = await open("@cf/baai/bge-small-en-v1.5");
		await page.getByLabel("text (one per line)").fill("a red boat\na red car\nzebra");
		await run(page);
		const rows = result(page).getByRole("row");
		await rows.first().waitFor();
		await page.getByRole("tab", { name: "OpenAI SDK" }).click();
		expect(await page.getByLabel("OpenAI SDK", { exact: true }).textContent()).toContain(
			'client.embeddings.create({\n\t"model": "@cf/baai/bge-small-en-v1.5",\n\t"input": [\n\t\t"a red boat",',
		);
		const cells = async (row: number) =>
			(await rows.nth(row).getByRole("cell").allTextContents()).map(Number);
		const [own, car, zebra] = await cells(1);
		expect(own).toBe(1);
		expect(car).toBeGreaterThan(zebra ?? 1);
	});

	it("ranks contexts, best first", async () => {
		const page = await open("@cf/baai/bge-reranker-base");
		await page.getByLabel("query").fill("red boat");
		await page.getByLabel("contexts (one per line)").fill("a zebra\na red boat");
		await run(page);
		const ranks = result(page).getByRole("list", { name: "Ranking" }).getByRole("listitem");
		await ranks.first().waitFor();
		const texts = await ranks.allTextContents();
		expect(texts.map((text) => text.replace(/ [\d.]+$/, ""))).toEqual(["a red boat", "a zebra"]);
		// 283 neurons for a million input tokens. The header has two decimals.
		expect(await page.getByRole("region", { name: "Measurements" }).textContent()).toContain("Neurons< 0.01");
	});

	it("translates and classifies a text", async () => {
		const page = await open("@cf/meta/m2m100-1.2b");
		await page.getByLabel("text").fill("Good morning");
		await run(page);
		await result(page).getByText("[simulated translation to fr] Good morning", { exact: true }).waitFor();
		await open("@cf/huggingface/distilbert-sst-2-int8");
		await run(page);
		await result(page).getByRole("meter", { name: "NEGATIVE" }).waitFor();
	});

	it("classifies and describes an image, and frames what it finds in it", async () => {
		const page = await open("@cf/microsoft/resnet-50");
		await page.getByLabel("image").setInputFiles(IMAGE);
		await run(page);
		await result(page).getByRole("meter").first().waitFor();

		await open("@cf/moondream/moondream3.1-9B-A2B");
		await page.getByLabel("image").setInputFiles(IMAGE);
		await page.getByLabel("task", { exact: true }).click();
		await page.getByRole("option", { name: "detect" }).click();
		await page.getByLabel("target").fill("boat");
		await run(page);
		const box = result(page).locator(".box").first();
		await box.waitFor();
		const [frame, image] = [await box.boundingBox(), await result(page).locator("img").boundingBox()];
		expect(frame?.width).toBeGreaterThan(0);
		expect(frame?.width).toBeLessThan(image?.width ?? 0);
	});
});
